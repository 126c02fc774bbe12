"""`memlessons measure` from the command line: table, figure, record; what is said where something lacks."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from memlessons import device
from memlessons.cli import main
from memlessons.device import recorded
from memlessons.device.result import of_record
from memlessons.measure import Record


def test_a_quick_run_prints_a_table_draws_a_figure_and_writes_a_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "records" / "here.json"
    assert main(["measure", "--quick", "--device", "cpu", "--out", str(tmp_path), "--json", str(file)]) == 0
    said = capsys.readouterr()
    record = Record.read(file)
    result = of_record(record)
    assert record.facts["quick"] and record.provenance["versions"]["torch"]
    assert {"MHA", "GQA 32/8", "MQA", "GQA int8", "GQA window", "latent"} <= {p.row for p in result.points}
    assert result.facts["tokens"] == 1024 and all(p.seconds.repetitions >= 3 for p in result.points)
    page = (tmp_path / "measure.html").read_text(encoding="utf-8")
    assert all(p.name.replace("<", "&lt;") in page for p in result.points)
    assert f"figure: {tmp_path / 'measure.html'}" in said.out and f"record: {file}" in said.out
    assert "recorded beside it, fainter: " in said.out and "rehearsal" in said.out
    assert "compiles for some seconds" in said.err and "answers are right" in said.err


@pytest.mark.parametrize("seconds", ["0", "-1", "nan"])
def test_no_time_is_an_error_that_says_so(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", f"--seconds={seconds}"]) == 1
    assert "must be above 0" in capsys.readouterr().err


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_an_error_that_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", "--device", "cuda"]) == 1
    assert "try --device cpu" in capsys.readouterr().err


def test_without_the_books_folder_it_says_that_nothing_recorded_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.device.made import a_result

    monkeypatch.setattr(recorded, "book_folder", lambda: tmp_path / "nowhere")
    said = "\n".join(device._pictured(a_result(), "table", tmp_path))
    assert "not installed here" in said and (tmp_path / "measure.html").is_file()
    monkeypatch.setattr(recorded, "book_folder", lambda: tmp_path)
    (tmp_path / "measurements").mkdir()
    assert "no other device is recorded" in "\n".join(device._pictured(a_result(), "table", tmp_path))


def test_without_plotly_the_table_is_still_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.device.made import a_result

    monkeypatch.setattr(device, "find_spec", lambda name: None)
    (said,) = device._pictured(a_result(), "table", tmp_path)
    assert "needs plotly" in said and list(tmp_path.iterdir()) == []


def test_without_numba_torch_and_the_roofs_are_measured_and_the_reason_is_said_once(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['numba'] = None\n"
        "from memlessons.cli import main\n"
        f"sys.exit(main(['measure', '--quick', '--device', 'cpu', '--out', {str(tmp_path)!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("needs the package numba") == 1
    assert "torch, FLASH" in done.stdout and "reads" in done.stdout
    assert (tmp_path / "measure.html").is_file()
