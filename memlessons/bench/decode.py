"""Decode steps and prefill of SmolLM2: ours, a peer's, and a loop that only streams the same bytes.

All run in one process, round by round in random order, with the same weights and dtype: compare the
ratios of one run, not the seconds of two.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from memlessons.bench.peer import llama_peer
from memlessons.measure import Record, Timing, Value, interleaved, provenance
from memlessons.model.decoder import Decoder
from memlessons.model.load import load
from memlessons.units import seconds_text

Run = Callable[[], Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this race."""
    parser.add_argument("--against", choices=["transformers", "nothing"], default="transformers")
    parser.add_argument("--contexts", type=int, nargs="+", default=[128, 2048, 6000], metavar="TOKENS")
    parser.add_argument("--prefill", type=int, default=2048, metavar="TOKENS", help="0 for none")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--out", type=Path, help="write the record to this JSON file")


def run(given: argparse.Namespace) -> int:
    """Race, print a line for each context, and write the record if asked to."""
    decoder = load("smollm2").decoder
    peer = llama_peer(decoder) if given.against == "transformers" else None
    values: dict[str, Value] = {}
    for context in given.contexts:
        times = interleaved(decode_runs(decoder, peer, context), given.rounds)
        values |= _values(f"decode {context}", times)
        print(_line(f"a step at {context:,} tokens", times))
    if given.prefill:
        times = interleaved(prefill_runs(decoder, peer, given.prefill), max(3, given.rounds // 3))
        values |= _values(f"prefill {given.prefill}", times)
        print(_line(f"prefill of {given.prefill:,} tokens", times))
    if given.out:
        print(f"written to {Record('decode', values, provenance()).write(given.out).name}")
    return 0


@torch.no_grad()
def decode_runs(decoder: Decoder, peer: Any, context: int) -> dict[str, Run]:
    """One decode step at `context` tokens for each contestant; each leaves its memory as it was."""
    text = torch.randint(
        0, decoder.config.vocabulary, (1, context), generator=torch.Generator().manual_seed(0)
    )
    token = torch.tensor([[5]])
    state = decoder.new_state(capacity=context + 1)
    decoder.forward(text, state, last=True)

    def ours() -> None:
        decoder.forward(token, state, last=True)
        state.truncate([context])

    runs: dict[str, Run] = {"ours": ours, "stream": _stream(decoder, state.held_bytes)}
    if peer is not None:
        cache = peer(text, use_cache=True, logits_to_keep=1).cache

        @torch.no_grad()
        def theirs() -> None:
            peer(token, cache=cache, use_cache=True)
            cache.crop(-1)

        runs["peer"] = theirs
    return runs


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


def _values(prefix: str, times: dict[str, Timing]) -> dict[str, Value]:
    values = {f"{prefix} {name}": Value.of(timing) for name, timing in times.items()}
    for name in set(times) - {"ours"}:
        ratios = [t / o for t, o in zip(times[name].samples, times["ours"].samples, strict=True)]
        values[f"{prefix} {name} / ours"] = Value.of(ratios, "ratio of the same round")
    return values


def _line(what: str, times: dict[str, Timing]) -> str:
    parts = [f"{what:28}"] + [f"{name} {seconds_text(t.seconds):>8}" for name, t in times.items()]
    for name, value in _values("", times).items():
        if name.endswith("/ ours"):
            parts.append(f"{name.strip()} {value.median:.2f} ({value.low:.2f}-{value.high:.2f})")
    return "   ".join(parts)
