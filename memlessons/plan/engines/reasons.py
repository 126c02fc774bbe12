"""Why an engine reserves what it does, in words with the numbers in them."""

from dataclasses import dataclass

from memlessons.plan.store import Store


def in_steps(step: int) -> str:
    """That cells are counted in steps, ", in 256s"; nothing where a step is one cell."""
    return f", in {step:,}s" if step > 1 else ""


@dataclass(frozen=True, slots=True)
class Cells:
    """How llama.cpp counts cells: in steps of `step`, `tokens` of text, `base` cells where all is seen.

    A stream of cells for each of `slots`, or one pool if `shared`; `batched` tokens of one batch beside a
    window; `every` cell in layers with windows too.
    """

    step: int
    tokens: int
    base: int
    slots: int
    shared: bool
    batched: int
    every: bool

    def words(self, store: Store, cells: int) -> tuple[str, str]:
        """What a store gets, and why."""
        whose = "for all slots" if self.shared and self.slots > 1 else "a slot"
        rule = f"{cells:,} cells {whose}"
        if store.stride > 1:
            rule += f", an entry for {store.stride:,} of them"
        near = store.window or store.block
        if not near:
            return rule, f"{self.tokens:,} tokens{in_steps(self.step)}"
        if self.every:
            return rule, "every cell, as --swa-full asks"
        many = f" for each of {self.slots:,} slots" if self.shared and self.slots > 1 else ""
        reach = f"a {'window' if store.window else 'chunk'} of {near:,}{many}"
        if self.batched:
            reach += f" and the {self.batched:,} tokens of one batch (n_ubatch){in_steps(self.step)}"
        if cells == self.base:
            return rule, f"{self.tokens:,} tokens{in_steps(self.step)}; {reach} would take no fewer"
        return rule, reach

    def of_encoder(self, tokens: int) -> tuple[str, str]:
        """What cross-attention gets, and why."""
        return f"{tokens:,} cells a slot", "what the encoder reads"


def blocks_said(length: int, batched: int, window: int | None, chunk: int | None) -> str:
    """Why vLLM holds blocks of one request for layers that see a window, a chunk, or all of it."""
    said = f"{length:,} tokens"
    if window is None and chunk is None:
        return said
    near, what = (window - 1, f"a window of {window:,} less one") if window is not None else (
        chunk or 0, f"a chunk of {chunk:,}"
    )  # fmt: skip
    reach = f"{what} and the {batched:,} tokens of one prefill chunk (max_num_batched_tokens)"
    more = ", and a block more" if window is not None else ""
    return f"{reach}{more}" if near + batched < length else f"{said}{more}; {reach} would be no fewer"


def groups_said(layers: int, copies: int, group_layers: int) -> str:
    """How groups of equal size hold layers of one kind, ", 6 groups of 10 layers, 8 of them padding"."""
    spare = copies * group_layers - layers
    said = f", {copies:,} group{'s' * (copies != 1)} of {group_layers:,} layer{'s' * (group_layers != 1)}"
    return said + (f", {spare:,} of them padding" if spare else "")
