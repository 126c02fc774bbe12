"""How much of a state there is: the numbers that one layer keeps for a sequence, whatever its length."""

from typing import NamedTuple


class Elements(NamedTuple):
    """Elements that one layer keeps for a sequence: inputs of convolutions, and state."""

    conv: int
    state: int
