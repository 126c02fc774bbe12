"""What counts as an input of a decode kernel, in exercise 03.3: an answer is checked before it is run."""

from typing import Any

from torch import Tensor

from memlessons.coursework.compare import kind_of
from memlessons.errors import MemlessonsError

Case = tuple[Tensor, Tensor, Tensor, list[int]]
"""(q [B, HQ, D], k [B, HKV, T, D], v [B, HKV, T, D], lengths: B ints from 0 to T)."""


class NoSuchInput(MemlessonsError, ValueError):
    """What was returned is no input of a decode kernel; the message names the part and what it should be."""


def decode_inputs(answer: Any) -> list[Case]:
    """The inputs in an answer, none to two, with lengths as ints; NoSuchInput says what is wrong with one."""
    if not isinstance(answer, list | tuple) or any(isinstance(part, Tensor) for part in answer):
        raise NoSuchInput(
            f"return a list of inputs, [(q, k, v, lengths)], even of one; got {kind_of(answer)}"
        )
    if len(answer) > 2:
        raise NoSuchInput(f"{len(answer)} inputs; two at most")
    return [_case(number, case) for number, case in enumerate(answer, start=1)]


def _case(number: int, case: Any) -> Case:
    if not isinstance(case, list | tuple) or len(case) != 4:
        raise NoSuchInput(f"input {number} is {kind_of(case)}; write (q, k, v, lengths)")
    q, k, v, lengths = case
    for name, tensor, dims in (("q", q, "B, HQ, D"), ("k", k, "B, HKV, T, D"), ("v", v, "B, HKV, T, D")):
        if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
            raise NoSuchInput(f"input {number}: {name} is {kind_of(tensor)}; a tensor of floats [{dims}]")
        if tensor.dim() != dims.count(",") + 1 or tensor.numel() == 0:
            raise NoSuchInput(f"input {number}: {name} is {list(tensor.shape)}; [{dims}], none of them 0")
    if k.shape != v.shape or (q.shape[0], q.shape[2]) != (k.shape[0], k.shape[3]):
        raise NoSuchInput(
            f"input {number}: q {list(q.shape)}, k {list(k.shape)} and v {list(v.shape)} do not fit "
            "together; q is [B, HQ, D], k and v are [B, HKV, T, D]"
        )
    if q.shape[1] % k.shape[1]:
        raise NoSuchInput(
            f"input {number}: {q.shape[1]} query heads cannot share {k.shape[1]} memories evenly"
        )
    if (size := q.numel() + k.numel() + v.numel()) > 100_000:
        raise NoSuchInput(f"input {number} has {size:,} numbers; 100,000 at most, a small one is enough")
    return q, k, v, _used(number, q, k, v, lengths)


def _used(number: int, q: Tensor, k: Tensor, v: Tensor, lengths: Any) -> list[int]:
    lengths = lengths.tolist() if isinstance(lengths, Tensor) else lengths
    whole = isinstance(lengths, list | tuple) and all(type(length) is int for length in lengths)
    if not whole or len(lengths) != q.shape[0]:
        raise NoSuchInput(
            f"input {number}: lengths is {lengths!r:.60}; one int for each of {q.shape[0]} rows"
        )
    for row, length in enumerate(lengths):
        if not 0 <= length <= k.shape[2]:
            raise NoSuchInput(
                f"input {number}: length {length} of row {row}; from 0 to {k.shape[2]}, the slots"
            )
        used = {"q": q[row], "k": k[row, :, :length], "v": v[row, :, :length]}
        for name, numbers in used.items():
            if not bool((numbers.abs() <= 1e6).all()):  # false for NaN as well
                raise NoSuchInput(
                    f"input {number}: {name} of row {row} has a number in use that is NaN, infinite or "
                    "beyond a million; then the right answer itself is lost"
                )
    return list(lengths)
