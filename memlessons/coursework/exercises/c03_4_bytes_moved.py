"""03.4: bytes of keys and values that attention moves, expanded to all heads or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memlessons.coursework.exercise import Exercise, Inputs, Mistake

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def bytes_moved(
    batch: int,
    q_heads: int,
    kv_heads: int,
    tokens: int,
    width: int,
    element_bytes: int,
    expanded: bool,
) -> int:
    """Bytes of keys and values that one decode step of one layer moves between memory and the processor.

    Each of `batch` sequences stores `tokens` keys and as many values of `width` numbers, in each of its
    `kv_heads` memories, `element_bytes` bytes a number. If `expanded` is false, a kernel reads what is
    stored, each number once for all the query heads that share it. If it is true, a copy is made in memory
    first in which each of the `q_heads` query heads has keys and values of its own, and attention reads that
    copy. Bytes read and bytes written both count; queries, scores and outputs do not.
    """
    stored = 2 * batch * kv_heads * tokens * width * element_bytes
    if not expanded:
        return stored
    copy = 2 * batch * q_heads * tokens * width * element_bytes
    return stored + copy + copy  # read what is stored, write the copy, read the copy


def _final_read_only(
    batch: int,
    q_heads: int,
    kv_heads: int,
    tokens: int,
    width: int,
    element_bytes: int,
    expanded: bool,
) -> int:
    heads = q_heads if expanded else kv_heads
    return 2 * batch * heads * tokens * width * element_bytes


def _write_forgotten(
    batch: int,
    q_heads: int,
    kv_heads: int,
    tokens: int,
    width: int,
    element_bytes: int,
    expanded: bool,
) -> int:
    heads = kv_heads + q_heads if expanded else kv_heads
    return 2 * batch * heads * tokens * width * element_bytes


def _k_only(
    batch: int,
    q_heads: int,
    kv_heads: int,
    tokens: int,
    width: int,
    element_bytes: int,
    expanded: bool,
) -> int:
    heads = kv_heads + 2 * q_heads if expanded else kv_heads
    return batch * heads * tokens * width * element_bytes


def _expanding_is_free(
    batch: int,
    q_heads: int,
    kv_heads: int,
    tokens: int,
    width: int,
    element_bytes: int,
    expanded: bool,
) -> int:
    return 2 * batch * kv_heads * tokens * width * element_bytes


def _shared_but_read_per_head(
    batch: int,
    q_heads: int,
    kv_heads: int,
    tokens: int,
    width: int,
    element_bytes: int,
    expanded: bool,
) -> int:
    heads = kv_heads + 2 * q_heads if expanded else q_heads
    return 2 * batch * heads * tokens * width * element_bytes


def _original_read_forgotten(
    batch: int,
    q_heads: int,
    kv_heads: int,
    tokens: int,
    width: int,
    element_bytes: int,
    expanded: bool,
) -> int:
    heads = 2 * q_heads if expanded else kv_heads
    return 2 * batch * heads * tokens * width * element_bytes


def _draw() -> SearchStrategy[Inputs]:
    from hypothesis import strategies as st

    @st.composite
    def inputs(pick: st.DrawFn) -> Inputs:
        kv_heads = pick(st.integers(1, 8))
        return {
            "batch": pick(st.integers(1, 9)),
            "q_heads": kv_heads * pick(st.integers(2, 9)),
            "kv_heads": kv_heads,
            "tokens": pick(st.integers(1, 3000)),
            "width": pick(st.sampled_from([1, 16, 64, 96, 128])),
            "element_bytes": pick(st.sampled_from([1, 2, 4])),
            "expanded": pick(st.booleans()),
        }

    return inputs()


_SMALL: Inputs = {"batch": 1, "q_heads": 4, "kv_heads": 1, "tokens": 10, "width": 2, "element_bytes": 2}

EXERCISE = Exercise(
    id="03.4",
    title="Bytes moved",
    kind="decide",
    reference=bytes_moved,
    draw=_draw,
    mistakes=(
        Mistake(
            "final read only",
            "What happened before that read? The copy must be made first.",
            _final_read_only,
        ),
        Mistake("write forgotten", "How did the copy get there? Made means written.", _write_forgotten),
        Mistake(
            "original read forgotten",
            "From where did the copy come? What is copied is read first.",
            _original_read_forgotten,
        ),
        Mistake("K only", "K is on its way; what else? V travels too.", _k_only),
        Mistake("expanding is free", "If expanding moves nothing, why is it slow?", _expanding_is_free),
        Mistake(
            "shared but read per head",
            "How often is a tile that many heads share loaded? Once.",
            _shared_but_read_per_head,
        ),
    ),
    hints=(
        "What passes between memory and the processor, in order, when the copy is made and then used?",
        "Three passes if expanded, one if not: how many heads does each of them carry?",
        "`stored = 2 * batch * kv_heads * tokens * width * element_bytes`",
    ),
    shown=({**_SMALL, "expanded": False},),
    outputs="an int, bytes",
)
