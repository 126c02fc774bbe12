"""What may be asked: numbers as people write them, and errors that name the field."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlessons.errors import MemlessonsError
from memlessons.plan import InvalidPlan
from memlessons.plan.engines import UnknownEngine
from memlessons.sizing import BadQuestion, Question, length
from memlessons.sizing.question import count, size
from tests.sizing.models import model


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (length, "131072", 131_072), (length, "131,072", 131_072), (length, "128k", 131_072),
        (length, " 1M ", 1_048_576), (length, "0.5k", 512), (length, "1_000", 1000), (size, "2tib", 2**41),
        (size, "4.9GB", 4_900_000_000), (size, "1.5 GiB", 3 * 2**29), (size, "100", 100),
        (count, "8B", 8_000_000_000), (count, "135m", 135_000_000), (count, "8030261248", 8_030_261_248),
        (count, "8.030261248B", 8_030_261_248),
    ],
)  # fmt: skip
def test_numbers_are_read_as_people_write_them(read, text, value):
    assert read(text) == value


@pytest.mark.parametrize("read", [length, size, count])
@pytest.mark.parametrize(
    "text", ["", "0", "-1", "1e9", "nan", "ten", "1kk", "9" * 400, "1.2.3", "128 k b", "∞", "٣"]
)
def test_what_is_no_number_is_refused_with_what_was_written(read, text):
    with pytest.raises(BadQuestion, match="is not a"):
        read(text)


@given(st.text(max_size=60))
def test_any_text_is_a_number_of_at_least_one_or_a_named_error(text):
    for read in (length, size, count):
        try:
            assert read(text) >= 1
        except BadQuestion as error:
            assert len(str(error)) < 300


@pytest.mark.parametrize(
    ("error", "more"),
    [
        (BadQuestion, {"context": 0}), (BadQuestion, {"context": 10**30}), (BadQuestion, {"batch": 1.5}),
        (BadQuestion, {"batch": True}), (BadQuestion, {"tp": 10**9}), (BadQuestion, {"reserve_bytes": -1}),
        (BadQuestion, {"visible_bytes": "24"}), (BadQuestion, {"encoder_tokens": -1}),
        (BadQuestion, {"context": 10**5000}), (BadQuestion, {"card": "H100"}), (BadQuestion, {"model": None}),
        (BadQuestion, {"lengths": (1, 2)}), (UnknownEngine, {"engine": "vlm"}),
        (UnknownEngine, {"engine": None}),
    ],
)  # fmt: skip
def test_an_impossible_question_is_refused_by_name(error, more):
    with pytest.raises(error) as caught:
        Question(**({"model": model()} | more))
    assert isinstance(caught.value, MemlessonsError) and next(iter(more)) in str(caught.value)


def test_an_unknown_format_is_refused_with_the_known_ones():
    with pytest.raises(InvalidPlan, match="q8_0"):
        Question(model(), kv_dtype="q7")
