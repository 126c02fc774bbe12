"""Decode steps and prefill of SmolLM2: ours in several forms, a peer's, and a loop that only streams bytes.

All run in one process, round by round in random order: compare the ratios of one run, not the seconds of two.
"torch" is our decoder without kernels of its own, "ours" has them; both in float32, as the peer. "int8
weights" reads its matrices in eight bits, "int8 weights and memory" also its keys and values; what that costs
in quality is measured beside the time it saves.
"""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from memlessons.bench.peer import llama_peer
from memlessons.bench.surprise import values_of as perplexities
from memlessons.measure import Record, Timing, Value, interleaved, provenance
from memlessons.model.decoder import Decoder
from memlessons.model.load import LanguageModel, load, plan_of
from memlessons.plan import INT8
from memlessons.units import seconds_text

Run = Callable[[], Any]
WEIGHTS, ALL = "int8 weights", "int8 weights and memory"
RATIO = "ratio of the same round"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this race."""
    parser.add_argument("--against", choices=["transformers", "nothing"], default="transformers")
    parser.add_argument("--contexts", type=int, nargs="+", default=[128, 2048, 6000], metavar="TOKENS")
    parser.add_argument("--prefill", type=int, default=2048, metavar="TOKENS", help="0 for none")
    parser.add_argument("--perplexity", type=int, default=1024, metavar="TOKENS", help="0 for none")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--out", type=Path, help="write the record to this JSON file")


def run(given: argparse.Namespace) -> int:
    """Race, print a line for each context, and write the record if asked to."""
    model, forms = models()
    decoder = model.decoder
    peer = llama_peer(decoder) if given.against == "transformers" else None
    values: dict[str, Value] = {}
    for context in given.contexts:
        times = interleaved(decode_runs(decoder, peer, context, forms), given.rounds)
        values |= _values(f"decode {context}", times)
        print(_lines(f"a step at {context:,} tokens", times))
    if given.prefill:
        times = interleaved(prefill_runs(decoder, peer, given.prefill), max(3, given.rounds // 3))
        values |= _values(f"prefill {given.prefill}", times)
        print(_lines(f"prefill of {given.prefill:,} tokens", times))
    if given.perplexity:
        found = perplexities({"ours": decoder} | forms, model.tokenizer, given.perplexity)
        values |= found
        print("\n".join(f"{name:40}{value.median:8.3f}" for name, value in found.items()))
    if given.out:
        print(f"written to {Record('decode', values, provenance()).write(given.out).name}")
    return 0


def models() -> tuple[LanguageModel, dict[str, Decoder]]:
    """SmolLM2 in float32, and its decoders with weights, then also memory, in eight bits."""
    model = load("smollm2")
    remembered = plan_of(model.config).with_format(INT8)
    return model, {
        WEIGHTS: load("smollm2", int8_weights=True).decoder,
        ALL: load("smollm2", int8_weights=True, plan=remembered).decoder,
    }


@torch.no_grad()
def decode_runs(
    decoder: Decoder, peer: Any, context: int, forms: Mapping[str, Decoder] | None = None
) -> dict[str, Run]:
    """One decode step at `context` tokens for each contestant; each leaves its memory as it was."""
    text = torch.randint(
        0, decoder.config.vocabulary, (1, context), generator=torch.Generator().manual_seed(0)
    )
    ours, held = _step(decoder, text)
    runs: dict[str, Run] = {"ours": ours, "torch": _without_kernels(decoder, _step(decoder, text)[0])}
    runs |= {name: _step(form, text)[0] for name, form in (forms or {}).items()}
    runs["stream"] = _stream(decoder, held)
    if peer is not None:
        token = torch.tensor([[5]])
        cache = peer(text, use_cache=True, logits_to_keep=1).cache

        @torch.no_grad()
        def theirs() -> None:
            peer(token, cache=cache, use_cache=True)
            cache.crop(-1)

        runs["peer"] = theirs
    return runs


def _step(decoder: Decoder, text: torch.Tensor) -> tuple[Run, int]:
    """A step after `text` `[1, T]` that leaves the memory as it was, and the bytes that it holds."""
    context, token = text.shape[1], torch.tensor([[5]])
    state = decoder.new_state(capacity=context + 1)
    decoder.forward(text, state, last=True)

    def step() -> None:
        decoder.forward(token, state, last=True)
        state.truncate([context])

    return step, state.held_bytes


def _without_kernels(decoder: Decoder, step: Run) -> Run:
    def slower() -> None:
        decoder.kernels = False
        try:
            step()
        finally:
            decoder.kernels = True

    return slower


def prefill_runs(decoder: Decoder, peer: Any, tokens: int) -> dict[str, Run]:
    """Reading a prompt of `tokens` tokens into an empty memory, for each contestant."""
    text = torch.randint(
        0, decoder.config.vocabulary, (1, tokens), generator=torch.Generator().manual_seed(1)
    )
    state = decoder.new_state(capacity=tokens)

    def ours() -> None:
        state.clear([0])
        decoder.forward(text, state, last=True)

    runs: dict[str, Run] = {"ours": ours}
    if peer is not None:

        @torch.no_grad()
        def theirs() -> None:
            peer(text, use_cache=True, logits_to_keep=1)

        runs["peer"] = theirs
    return runs


def _stream(decoder: Decoder, kv_bytes: int) -> Run:
    """Read as many bytes as a step must, weights and memory, and do nothing with them but add them up."""
    weight_bytes = sum(w.numel() * w.element_size() for w in decoder.weights.values())
    block = torch.ones((weight_bytes + kv_bytes) // 4)
    out = torch.empty(())
    return lambda: torch.sum(block, 0, out=out)


def _values(prefix: str, times: Mapping[str, Timing]) -> dict[str, Value]:
    """Seconds of each; the peer's over each of the others', and each over ours, round by round."""
    values = {f"{prefix} {name}": Value.of(timing) for name, timing in times.items()}
    pairs = [(name, "ours") for name in times if name != "ours"]
    if "peer" in times:
        pairs += [("peer", name) for name in times if name not in ("peer", "ours", "stream")]
    for over, under in pairs:
        ratios = [a / b for a, b in zip(times[over].samples, times[under].samples, strict=True)]
        values[f"{prefix} {over} / {under}"] = Value.of(ratios, RATIO)
    return values


def _lines(what: str, times: Mapping[str, Timing]) -> str:
    """A line of times, and under it a line of ratios: the peer's time, or ours without one."""
    found = [f"{what:28}" + "   ".join(f"{name} {seconds_text(t.seconds)}" for name, t in times.items())]
    for name, value in _values("", times).items():
        if value.unit == RATIO and (name.startswith(" peer") or "stream" in name):
            found.append(f"  {name.strip():36}{value.median:6.2f}   ({value.low:.2f} to {value.high:.2f})")
    return "\n".join(found)
