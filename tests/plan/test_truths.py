"""Every published figure we know of, and what happens to files that are none."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from memlessons.plan.truths import BadRow, Row, check, named_rows, read_rows

UNKNOWN_ORIGIN = Path(__file__).parent / "truths" / "unknown_origin.jsonl"
ROWS = [*named_rows(), *read_rows(UNKNOWN_ORIGIN)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_published_figure_is_reproduced_within_its_tolerance(row: Row):
    checked = check(row)
    assert checked.ok, checked.line()


def test_all_rows_are_there_and_each_says_where_it_is_from():
    assert len(named_rows()) == 50 and len(ROWS) == 91
    assert len({row.id for row in ROWS}) == len(ROWS)
    assert all(row.source for row in ROWS)


def nameless(config):
    """The same configuration of a type that nobody knows, at every level."""
    return {
        name: nameless(value)
        if isinstance(value, dict)
        else "nobodys_model"
        if name == "model_type"
        else value
        for name, value in config.items()
    }


def test_where_fields_decide_no_rule_looks_at_the_name_of_a_type():
    """Under another name a figure stays what it is, or is refused where no field names the heads kept."""
    refused = 0
    for row in ROWS:
        other = check(replace(row, config=nameless(row.config)))
        refused += other.got is None
        if other.got is None:
            assert "names no key and value heads" in other.reason, row.id
        else:
            assert other.got == check(row).got, row.id
    assert refused == 10


def test_figures_that_are_a_little_off_are_called_off():
    for row in ROWS:
        ours = check(row).got
        assert ours is not None
        moved = {name: getattr(row, name) for name in Row.__dataclass_fields__}
        moved["expected"] = ours * (1 + 3 * (row.tolerance + 1e-6))
        assert not check(Row(**moved)).ok, row.id


@pytest.mark.parametrize(
    "line",
    [
        b"{", b"[]", b"null", b'{"id": 3}', b"\xff\xfe\x00", b'{"id": "a"}', b"[" * 100_000,
        json.dumps({"id": "a", "config": {}, "context_tokens": -1, "expected_bytes": 1}).encode(),
        json.dumps({"id": "a", "config": {}, "context_tokens": 1.5, "expected_bytes": 1}).encode(),
        json.dumps({"id": "a", "config": {}, "context_tokens": 1, "expected_bytes": float("nan")}).encode(),
        json.dumps({"id": "a", "config": {}, "context_tokens": 1}).encode(),
    ],
)  # fmt: skip
def test_a_line_that_is_no_row_is_refused_with_its_number(tmp_path, line):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"\n" + line + b"\n")
    with pytest.raises(BadRow, match="line 2"):
        list(read_rows(path))


@pytest.mark.parametrize(
    "name",
    [
        "engine",
        "without",
        "context_tokens",
        "batch",
        "kv_dtype",
        "tp",
        "draft",
        "unknown_state",
        "config_or_plan",
    ],
)
def test_arguments_that_a_row_has_fields_for_make_it_off_and_the_next_is_checked(tmp_path, name):
    good = {"id": "good", "config": dict(ROWS[0].config), "context_tokens": 1, "expected_bytes": 1}
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in (good | {"engine_args": {name: 1}}, good)))
    first, second = map(check, read_rows(path))
    assert not first.ok and first.got is None and name in first.line()
    assert second.got is not None


def test_what_is_no_file_is_not_waited_for(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for source in (pipe, tmp_path, "/dev/zero", "rows\0"):
        with pytest.raises(BadRow, match="is no file|cannot be read"):
            list(read_rows(source))


def test_a_row_that_we_cannot_size_is_off_and_says_why():
    row = Row("x", {"model_type": "llama"}, "ideal", 1, 1, "f16", 1, {}, "bytes", 1, 0)
    assert not check(row).ok and "num_hidden_layers" in check(row).line()
    wrong = Row("x", ROWS[0].config, "llama.cpp", 1, 1, "f16", 1, {"n_slots": 3}, "bytes", 1, 0)
    assert "n_slots" in check(wrong).line() and check(wrong).line().startswith("x 1 - off")
