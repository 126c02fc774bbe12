"""A list of the tensors of a model: what is added up, and can be looked at part by part.

Tensors are kept as shapes, not as sums, because formats with a scale for each group of a row need them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

EXPERTS = "experts"
"""The part that holds what a router chooses among."""


class Tensor(NamedTuple):
    """The shape of a tensor: `columns` inputs to `rows` outputs; a vector has one column.

    `matrix` tells the weight of a linear layer (what quantisation is about) from a vector, a convolution or
    any other parameter; `lookup` a table of which a token only takes a row from all others; `tied` one that
    is the output head too.
    """

    part: str
    rows: int
    columns: int
    matrix: bool
    lookup: bool = False
    tied: bool = False


@dataclass(slots=True)
class Ledger:
    """Tensors of a model with how often each is there, and how many of them one token touches."""

    copies: dict[Tensor, tuple[int, int]] = field(default_factory=dict)

    def add(self, tensor: Tensor, times: int = 1, used: int | None = None) -> None:
        """Note a tensor, `times` over, of which one token touches `used` (all if not said)."""
        if times < 1 or tensor.rows * tensor.columns == 0:
            return
        there, touched = self.copies.get(tensor, (0, 0))
        self.copies[tensor] = (there + times, touched + (times if used is None else min(used, times)))

    def linear(
        self,
        part: str,
        rows: int,
        columns: int,
        *,
        bias: bool = False,
        times: int = 1,
        used: int | None = None,
    ) -> None:
        """Note a linear layer from `columns` to `rows` numbers, with or without a bias."""
        self.add(Tensor(part, rows, columns, True), times, used)
        if bias:
            self.add(Tensor(part, rows, 1, False), times, used)

    def vector(self, part: str, numbers: int, times: int = 1) -> None:
        """Note parameters that are no linear layer: norms, biases, embeddings, convolutions."""
        self.add(Tensor(part, numbers, 1, False), times)

    def table(self, numbers: int, times: int = 1, *, tied: bool = False, part: str = "embeddings") -> None:
        """Note a table of rows that are looked up; a `tied` one is the head too, and multiplied whole."""
        self.add(Tensor(part, numbers, 1, False, not tied, tied), times)

    def tensors(self) -> Iterator[tuple[Tensor, int, int]]:
        """Each tensor with how often it is there and how many of them a token touches."""
        for tensor, (there, touched) in self.copies.items():
            yield tensor, there, touched

    @property
    def parameters(self) -> int:
        """All numbers of all tensors."""
        return sum(tensor.rows * tensor.columns * there for tensor, there, _ in self.tensors())

    @property
    def active_parameters(self) -> int:
        """The numbers that one token touches: all but those of the experts that are not chosen for it."""
        return sum(tensor.rows * tensor.columns * touched for tensor, _, touched in self.tensors())

    @property
    def lookup_parameters(self) -> int:
        """The numbers of tables from which a token only takes a row."""
        return sum(t.rows * t.columns * there for t, there, _ in self.tensors() if t.lookup)

    @property
    def head_parameters(self) -> int:
        """The numbers of what turns a token into scores of the next: the head, or the table tied to it."""
        return sum(t.rows * t.columns * used for t, _, used in self.tensors() if t.tied or t.part == "head")

    @property
    def expert_share(self) -> float | None:
        """How many of the routed experts one token takes, of all there are; None where there are none."""
        sizes = [(t.rows * t.columns, there, used) for t, there, used in self.tensors() if t.part == EXPERTS]
        held = sum(size * there for size, there, _ in sizes)
        return sum(size * used for size, _, used in sizes) / held or None if held else None

    def parts(self) -> dict[str, int]:
        """Parameters by part, in the order in which parts were first noted."""
        found: dict[str, int] = {}
        for tensor, there, _ in self.tensors():
            found[tensor.part] = found.get(tensor.part, 0) + tensor.rows * tensor.columns * there
        return found
