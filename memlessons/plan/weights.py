"""What the weights take: half of every answer about memory."""

from dataclasses import dataclass

from memlessons.plan.errors import InvalidPlan, whole


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of a model: bytes as stored, parameters, and how many a token touches.

    `active_parameters` is less than `parameters` for a mixture of experts; `source` says where the
    numbers are from. `active_stored_bytes` is what a token's parameters take where that is known to be
    another share: of many mixtures only the experts are quantised.
    """

    stored_bytes: int
    parameters: int
    active_parameters: int
    source: str
    active_stored_bytes: int | None = None

    def __post_init__(self) -> None:
        for name in ("stored_bytes", "parameters", "active_parameters"):
            whole(f"Weights.{name}", getattr(self, name), least=1)
        if self.active_parameters > self.parameters:
            raise InvalidPlan(
                f"Weights.active_parameters={self.active_parameters}: more than parameters={self.parameters}"
            )
        if self.active_stored_bytes is not None:
            whole("Weights.active_stored_bytes", self.active_stored_bytes, least=1)

    @property
    def active_bytes(self) -> int:
        """Bytes of the weights one token touches: as known, else at the stored bytes per parameter."""
        if self.active_stored_bytes is not None:
            return self.active_stored_bytes
        return -(-self.stored_bytes * self.active_parameters // self.parameters)
