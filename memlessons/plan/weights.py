"""What the weights take: half of every answer about memory."""

from dataclasses import dataclass

from memlessons.plan.errors import InvalidPlan, whole


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of a model: bytes as stored, parameters, and how many a token touches.

    `active_parameters` is less than `parameters` for a mixture of experts; `source` says where the
    numbers are from. `active_stored_bytes` is what a token's parameters take where that is known to be
    another share: of many mixtures only the experts are quantised. `expert_share` is how many of its
    routed experts a token takes, of a mixture where it is known. `lookup_parameters` and `lookup_bytes` are
    of tables from which a token only takes a row (an input embedding that is not the head too, per-layer
    embeddings): they are stored and count as active, by the field's convention, but nothing reads or
    multiplies them whole. `head_parameters` are the output head's (a tied embedding's, where that is the
    head): of a prompt only the last token is asked what comes next.
    """

    stored_bytes: int
    parameters: int
    active_parameters: int
    source: str
    active_stored_bytes: int | None = None
    expert_share: float | None = None
    lookup_parameters: int = 0
    lookup_bytes: int = 0
    head_parameters: int = 0

    def __post_init__(self) -> None:
        for name in ("stored_bytes", "parameters", "active_parameters"):
            whole(f"Weights.{name}", getattr(self, name), least=1)
        if self.active_parameters > self.parameters:
            raise InvalidPlan(
                f"Weights.active_parameters={self.active_parameters}: more than parameters={self.parameters}"
            )
        if self.active_stored_bytes is not None:
            whole("Weights.active_stored_bytes", self.active_stored_bytes, least=1)
        if self.expert_share is not None and not 0 < self.expert_share <= 1:
            raise InvalidPlan(f"Weights.expert_share={self.expert_share!r}: must be above 0 and at most 1")
        for name, most in (
            ("lookup_parameters", self.active_parameters),
            ("lookup_bytes", self.stored_bytes),
            ("head_parameters", self.multiplied_parameters),
        ):
            whole(f"Weights.{name}", getattr(self, name))
            if getattr(self, name) > most:
                raise InvalidPlan(f"Weights.{name}={getattr(self, name)}: more than the {most} there are")

    @property
    def active_bytes(self) -> int:
        """Bytes of the weights one token touches: as known, else at the stored bytes per parameter."""
        if self.active_stored_bytes is not None:
            return self.active_stored_bytes
        return -(-self.stored_bytes * self.active_parameters // self.parameters)

    @property
    def multiplied_parameters(self) -> int:
        """Parameters that a token is multiplied with: the active ones, but for tables that are looked up."""
        return max(1, self.active_parameters - self.lookup_parameters)
