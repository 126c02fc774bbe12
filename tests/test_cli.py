"""The command line finds its sub-commands, and turns their errors into one line and an exit code."""

import argparse
import importlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from memlessons import __version__, cli
from memlessons.errors import MemlessonsError


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[argparse.Namespace], int | None]], None]:
    """`command(run)` makes `run` the sub-command "try", with one positional argument and one option."""

    def install(run: Callable[[argparse.Namespace], int | None]) -> None:
        module = ModuleType("a_sub_command")

        def add_arguments(parser: argparse.ArgumentParser) -> None:
            parser.add_argument("what")
            parser.add_argument("--count", type=int, default=1)

        module.add_arguments, module.run = add_arguments, run  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "a_sub_command", module)
        monkeypatch.setitem(cli.COMMANDS, "try", cli.Command("a_sub_command", "a sub-command"))

    return install


def failing(error: BaseException) -> Callable[[argparse.Namespace], int]:
    def run(arguments: argparse.Namespace) -> int:
        raise error

    return run


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_can_be_imported_and_takes_its_arguments(name: str) -> None:
    module = importlib.import_module(cli.COMMANDS[name].module)
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    assert callable(module.run)


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main([name, "--help"])
    assert stopped.value.code == 0
    assert f"usage: memlessons {name}" in capsys.readouterr().out


def test_without_a_command_it_shows_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 0
    shown = capsys.readouterr().out
    assert [name for name in cli.COMMANDS if name not in shown] == []


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--version"])
    assert capsys.readouterr().out == f"memlessons {__version__}\n"


def test_arguments_reach_the_command(command: Callable) -> None:
    seen = []
    command(lambda arguments: seen.append((arguments.what, arguments.count)))
    assert cli.main(["try", "this", "--count", "3"]) == 0
    assert seen == [("this", 3)]


@pytest.mark.parametrize("code", [0, 1, 5])
def test_exit_code_is_the_commands_own(command: Callable, code: int) -> None:
    command(lambda arguments: code)
    assert cli.main(["try", "this"]) == code


def test_named_error_is_one_line(command: Callable, capsys: pytest.CaptureFixture[str]) -> None:
    command(failing(MemlessonsError("window=-1 is negative; give a number of tokens")))
    assert cli.main(["try", "this"]) == 1
    shown = capsys.readouterr()
    assert shown.err == "memlessons: window=-1 is negative; give a number of tokens\n"
    assert shown.out == ""


@pytest.mark.parametrize("given", [["--debug", "try", "this"], ["try", "this", "--debug"]])
def test_debug_shows_where_an_error_came_from(command: Callable, given: list[str]) -> None:
    command(failing(MemlessonsError("named")))
    with pytest.raises(MemlessonsError):
        cli.main(given)


def test_debug_variable_shows_where_an_error_came_from(
    command: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    command(failing(MemlessonsError("named")))
    monkeypatch.setenv("MEMLESSONS_DEBUG", "1")
    with pytest.raises(MemlessonsError):
        cli.main(["try", "this"])


def test_error_that_is_not_ours_is_not_hidden(command: Callable) -> None:
    command(failing(ZeroDivisionError("a mistake of ours")))
    with pytest.raises(ZeroDivisionError):
        cli.main(["try", "this"])


def test_interrupt_is_a_short_line_and_code_130(
    command: Callable, capsys: pytest.CaptureFixture[str]
) -> None:
    command(failing(KeyboardInterrupt()))
    assert cli.main(["try", "this"]) == 130
    assert capsys.readouterr().err.strip() == "memlessons try: interrupted"


def test_missing_package_is_named(command: Callable, capsys: pytest.CaptureFixture[str]) -> None:
    command(failing(ModuleNotFoundError("No module named 'plotly'", name="plotly.graph_objects")))
    assert cli.main(["try", "this"]) == 1
    assert "plotly" in capsys.readouterr().err


@pytest.mark.parametrize("given", [["tyr"], ["try"], ["try", "this", "--count", "many"]])
def test_wrong_usage_is_code_2(command: Callable, given: list[str]) -> None:
    command(lambda arguments: 0)
    with pytest.raises(SystemExit) as stopped:
        cli.main(given)
    assert stopped.value.code == 2


def test_closed_pipe_ends_quietly(tmp_path: Path) -> None:
    """`memlessons ... | head -0`: no traceback when nobody reads on."""
    code = (
        "import sys, types; from memlessons import cli\n"
        "module = types.ModuleType('talker')\n"
        "module.add_arguments = lambda parser: None\n"
        "def run(arguments):\n"
        "    for line in range(100_000):\n"
        "        print(line)\n"
        "module.run = run\n"
        "sys.modules['talker'] = module; cli.COMMANDS['talk'] = cli.Command('talker', '')\n"
        "sys.exit(cli.main(['talk']))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait() == 141
    process.stderr.close()
