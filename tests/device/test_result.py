"""Shares and ratios come from the same round; a record gives back what was put in."""

from dataclasses import replace
from pathlib import Path

import pytest

from memlessons.device.result import of_record
from memlessons.device.table import percent_text, table, time_text
from memlessons.measure import Record, Value
from memlessons.measure.files import CorruptFile
from tests.device.made import a_result


def test_shares_and_ratios_are_medians_of_rounds_and_not_ratios_of_medians() -> None:
    result = a_result()
    ours, theirs, mqa = result.points
    # 0.5 GB in 62.5, 100 and 50 ms is 8, 5 and 10 GB/s of the 10 GB/s that were read.
    assert ours.of_read.median == pytest.approx(0.8)
    assert (ours.of_read.low, ours.of_read.high) == pytest.approx((0.65, 0.9))
    # 2, 2 and 4 times as long, round by round; the ratio of medians would be 3.2.
    assert theirs.against is not None and theirs.against.median == pytest.approx(2.0)
    assert ours.against is None and mqa.against is None
    assert mqa.of_multiply.median == pytest.approx(0.5)
    assert (result.read.median, result.multiply.median) == pytest.approx((10e9, 100e9))
    assert result.ridge.median == pytest.approx(10)


def test_the_ridge_decides_which_roof_limits() -> None:
    result = a_result()
    assert [p.intensity for p in result.points] == [0.5, 0.5, 20.0]
    assert [result.limit(p) for p in result.points] == ["memory", "memory", "compute"]
    wide = replace(result, ridge=Value(10, 0.4, 12, 3, "FLOP per byte"))
    assert [wide.limit(p) for p in wide.points] == ["either", "either", "compute"]


def test_a_record_gives_back_the_same_result(tmp_path: Path) -> None:
    result = a_result()
    path = result.record().write(tmp_path / "measure-a.json")
    assert of_record(Record.read(path)) == result


@pytest.mark.parametrize("missing", ["read", "MHA, memlessons", "MQA, memlessons: of multiply"])
def test_a_record_without_a_value_says_which(missing: str) -> None:
    record = a_result().record()
    values = {name: value for name, value in record.values.items() if name != missing}
    with pytest.raises(CorruptFile, match=missing):
        of_record(replace(record, values=values))


@pytest.mark.parametrize("facts", [{}, {"rows": []}, {"rows": {"MHA, torch": {"row": 1}}, "left_out": {}}])
def test_a_record_of_something_else_is_named(facts: dict[str, object]) -> None:
    with pytest.raises(CorruptFile, match=r"record 'measure'"):
        of_record(replace(a_result().record(), facts=facts))


def test_every_time_and_share_stands_with_its_middle_half() -> None:
    result = a_result()
    text = table(result)
    for p in result.points:
        assert time_text(p.seconds) in text and percent_text(p.of_read) in text
        assert percent_text(p.of_multiply) in text
    assert time_text(result.points[0].seconds) == "62.5 (56.2 to 81.2) ms"
    assert "10.0 GB/s  (10.0 GB/s to 10.0 GB/s)" in text and "8.00 GB/s" in text
    assert "2 (2 to 3)" in text
    assert "MHA: moves 477 MiB, 0.5 FLOP per byte: memory limits" in text
    assert "MQA: moves 9.54 MiB, 20 FLOP per byte: arithmetic limits" in text
    assert "torch, FLASH" in text and "torch's attention takes no int8 memory" in text
    assert "rehearsal" not in text and "*" not in text and "None of the kernels" not in text
    assert max(len(line) for line in text.splitlines()) <= 110


def test_a_share_above_the_reading_rate_is_marked_and_the_caches_are_named() -> None:
    result = a_result(mha=[0.025, 0.025, 0.025])
    assert [p.cached for p in result.points] == [True, False, False]
    text = table(result)
    assert "200% (200 to 200)*" in text and text.count("*") == 2
    assert "from a cache" in text and "L2 512 KiB x 2, L3 32.0 MiB" in text
    assert "its size is not known" in table(a_result(mha=[0.025, 0.025, 0.025], caches=[]))


def test_at_the_limit_of_102_percent_nothing_is_marked() -> None:
    assert not a_result(mha=[0.05, 0.05, 0.05]).points[0].cached
    assert a_result(mha=[0.0489, 0.0489, 0.0489]).points[0].cached


def test_without_our_kernels_the_reason_stands_once_and_torch_stays() -> None:
    result = a_result()
    why = "backend='cpu' needs the package numba, which is not installed here"
    points = tuple(p for p in result.points if p.who == "torch")
    left_out = dict(result.left_out) | {f"{p.row}, memlessons": why for p in result.points}
    text = table(replace(result, points=points, left_out=left_out))
    assert text.count("numba") == 1 and "None of the kernels of memlessons ran here" in text
    assert "torch, FLASH" in text and "int8" in text and "memlessons doctor" in text


def test_products_are_announced_where_there_are_any() -> None:
    assert "one token times a 4,096 x 4,096 matrix" in table(a_result())
    assert "matrix\n" not in table(a_result(product_width=0)).partition("of reading")[0]


def test_an_unsteady_machine_is_called_one() -> None:
    assert "was running" not in table(a_result())
    unsteady = Value(10e9, 5e9, 11e9, 9, "bytes/s")
    assert "5.00 GB/s in one round and at 11.0 GB/s" in table(replace(a_result(), read=unsteady))
