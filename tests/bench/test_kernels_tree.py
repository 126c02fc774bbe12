"""The kernel race from a bare source tree, with torch, triton and numpy alone: the whole of it, rehearsed."""

import json
import os
import shutil
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from memlessons.bench.kernels.libraries import libraries
from memlessons.bench.kernels.shapes import ALONE, LARGE
from memlessons.bench.kernels.targets import GPU

pytest.importorskip("triton")

# What a bare machine has not. A finder that refuses stands before all that would find them.
RUN = """
import runpy, sys
class Absent:
    names = {"numba", "platformdirs", "rich", "plotly", "hypothesis", "jinja2", "tokenizers", "gguf",
             "huggingface_hub", "safetensors", "transformers", "IPython", "flash_attn",
             "flash_attn_interface", "flashinfer"}
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ImportError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
sys.argv = ["bench", *sys.argv[1:]]
sys.path.insert(0, "")
import memlessons
assert memlessons.__file__.startswith(sys.argv.pop()), memlessons.__file__
runpy.run_module("memlessons.bench", run_name="__main__")
"""


@pytest.fixture(scope="module")
def bare_tree(tmp_path_factory: pytest.TempPathFactory, tree: Path) -> Path:
    bare = tmp_path_factory.mktemp("bare")
    for folder in ("memlessons", "kernels"):
        shutil.copytree(tree / folder, bare / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return bare


def test_a_rehearsal_walks_through_every_measurement_and_writes_no_figure(bare_tree: Path) -> None:
    words = ["kernels", "--rehearse", "--out", "found", "--commit", "abc123", str(bare_tree)]
    # No interpreter asked for outside: the race itself must switch it on.
    env = {k: v for k, v in os.environ.items() if k not in ("TRITON_INTERPRET", "PYTHONPATH")}
    done = subprocess.run(
        [sys.executable, "-c", RUN, *words],
        cwd=bare_tree,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert [p.name for p in (bare_tree / "found").iterdir()] == ["kernels-rehearsal.json"]
    written = json.loads((bare_tree / "found" / "kernels-rehearsal.json").read_text())
    facts = written["facts"]
    assert written["values"] == {} and facts["rehearsal"] is True
    assert facts["failed"] == facts["refused"] == {}
    assert written["provenance"]["commit"] == "abc123" and len(facts["sources"]) == 64
    for name in ("copy", "read", "ceiling", "splits S=2", "one head for all mqa copied / mqa"):
        assert name in facts["walked"]
    # FlexAttention may fail for want of what this machine has not, as any optional row may.
    may_miss = [library.name for library in libraries()] + ["flex"]
    for target in GPU:
        if target.value and not any(rival in target.value for rival in may_miss):
            assert any(fnmatchcase(name, target.value) for name in facts["walked"]), target.value
    assert "flashinfer not installed" in facts["left_out"]["gqa B1 T8192, libraries"]
    assert "not measured: a rehearsal has no figures" in done.stdout
    assert facts["rows"]["pages B32 T4096"]["contenders"]["slot by slot"]["splits"] > 1
    for shape in (LARGE, *ALONE):
        row = facts["rows"][shape.name]
        assert row["HQ"] // row["HKV"] == 4 and row["T"] < 100
        assert {"ours", "sdpa flash", "sdpa math"} <= set(row["contenders"])
        assert "sdpa cudnn" in row["not_accepted"]
        assert row["contenders"]["sdpa math"]["note"].startswith("no anchor")
    assert set(facts["checked"]) == {"float16", "bfloat16", "float32"}


def test_the_report_needs_neither_triton_nor_numba(bare_tree: Path) -> None:
    """It is for any machine, also one that measures nothing."""
    code = (
        "import sys; sys.path.insert(0, ''); sys.modules['triton'] = sys.modules['numba'] = None\n"
        "from memlessons.bench.command import main\n"
        "sys.exit(main(['kernels', '--report', 'found/kernels-rehearsal.json']))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=bare_tree, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "multi-head" in done.stdout and "torch" not in done.stderr


def test_a_warming_process_is_found_under_its_name() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "memlessons.bench.kernels.warm", "0", "1"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
