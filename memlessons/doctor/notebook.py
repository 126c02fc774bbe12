"""JupyterLab and its widgets: a widget needs one half in the kernel and one in the server."""

import shlex
from pathlib import Path

from memlessons.doctor.check import Check, pip_install, release
from memlessons.doctor.facts import Facts


def check_lab(facts: Facts) -> Check:
    """JupyterLab is installed, and its kernel is this Python."""
    name = "JupyterLab"
    lab, kernel = facts.versions.get("jupyterlab"), facts.versions.get("ipykernel")
    if lab is None or kernel is None:
        missing = "JupyterLab" if lab is None else "ipykernel"
        return Check(name, "FAIL", f"{missing} is not installed", pip_install(missing.lower()))
    mend = shlex.join([facts.executable, "-m", "ipykernel", "install", "--sys-prefix", "--name", "python3"])
    if not facts.kernel_python:
        return Check(name, "FAIL", f"{lab} has no kernel named python3", mend)
    # Compared without following links: every environment's Python is a link to the same one.
    if Path(facts.kernel_python).parent != Path(facts.executable).parent:
        text = f"{lab}, but its kernel starts another Python: {facts.kernel_python}"
        return Check(name, "FAIL", text, mend)
    return Check(name, "PASS", f"{lab}, its kernel is this Python")


def check_kernel_widgets(facts: Facts) -> Check:
    """ipywidgets, the half of a widget that runs in the kernel."""
    name = "widgets in kernel"
    version = facts.versions.get("ipywidgets")
    if version is None:
        return Check(name, "FAIL", "ipywidgets is not installed", pip_install("ipywidgets>=8.1.5"))
    if release(version) < (8, 1):
        return Check(
            name, "FAIL", f"ipywidgets {version}: 8.1 or newer is needed", pip_install("ipywidgets>=8.1.5")
        )
    return Check(name, "PASS", f"ipywidgets {version}")


def check_server_widgets(facts: Facts) -> Check:
    """jupyterlab_widgets, the half that JupyterLab's page loads; 3.x belongs to ipywidgets 8."""
    name = "widgets in server"
    version = facts.versions.get("jupyterlab_widgets")
    mend = pip_install("jupyterlab_widgets>=3.0.13")
    if version is None:
        return Check(name, "FAIL", "jupyterlab_widgets is not installed", mend)
    if release(version) < (3,):
        return Check(name, "FAIL", f"jupyterlab_widgets {version} does not fit ipywidgets 8", mend)
    if not facts.labextensions.get("jupyterlab_widgets"):
        again = mend.replace(" install ", " install --force-reinstall --no-deps ", 1)
        return Check(name, "FAIL", f"jupyterlab_widgets {version} left no extension for JupyterLab", again)
    return Check(name, "PASS", f"jupyterlab_widgets {version}")


def check_anywidget(facts: Facts) -> Check:
    """anywidget, which plotly's live figures are made of."""
    version = facts.versions.get("anywidget")
    if version is None:
        return Check("anywidget", "FAIL", "not installed: live figures do not show", pip_install("anywidget"))
    if not facts.labextensions.get("anywidget"):
        again = pip_install("anywidget").replace(" install ", " install --force-reinstall --no-deps ", 1)
        return Check("anywidget", "FAIL", f"{version} left no extension for JupyterLab", again)
    return Check("anywidget", "PASS", f"{version}, plotly {facts.versions.get('plotly') or 'missing'}")
