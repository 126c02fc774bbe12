"""Questions of a minute about earlier chapters, with numbers drawn anew each day. Pure."""

from collections.abc import Callable
from random import Random
from typing import NamedTuple


class Trap(NamedTuple):
    """A wrong answer that is `factor` times the right one, and a word about it."""

    factor: float
    word: str


class Question(NamedTuple):
    """A question, its answer in `unit`, the line that leads there, and traps on the way."""

    asked: str
    answer: float
    unit: str
    worked: str
    traps: tuple[Trap, ...] = ()


class Topic(NamedTuple):
    """What a question is about, the chapter that taught it, and the function that draws its numbers."""

    name: str
    chapter: str
    draw: Callable[[Random], Question]


def _ridge(random: Random) -> Question:
    rate, bandwidth = random.choice([60, 120, 300, 990]), random.choice([0.5, 1.5, 2, 3.3, 4.8])
    return Question(
        f"A device computes {rate} TFLOP/s and reads {bandwidth} TB/s. From how many FLOP per byte on is it "
        "busy computing rather than waiting?",
        rate / bandwidth,
        "FLOP per byte",
        f"{rate} / {bandwidth} = {rate / bandwidth:.4g}: both per second, the tera cancels",
    )


def _bound(random: Random) -> Question:
    flops, moved = random.choice([2, 8, 40, 160]), random.choice([0.5, 2, 6, 16])
    rate, bandwidth = random.choice([10, 50, 200]), random.choice([100, 400, 1000])
    computing, moving = flops / rate, 1000 * moved / bandwidth
    return Question(
        f"A step does {flops} GFLOP and moves {moved} GB, on a device of {rate} TFLOP/s and "
        f"{bandwidth} GB/s; both overlap perfectly. How many milliseconds at least?",
        max(computing, moving),
        "ms",
        f"{flops} GFLOP / {rate} TFLOP/s = {computing:.4g} ms; {moved} GB / {bandwidth} GB/s = "
        f"{moving:.4g} ms; the later decides",
    )


def _gibibytes(random: Random) -> Question:
    card = random.choice([8, 12, 16, 24, 48, 80, 141])
    gib = card * 10**9 / 2**30
    return Question(
        f"A memory is sold as {card} GB. How many GiB does a tool print that counts in powers of two?",
        gib,
        "GiB",
        f"{card} x 10^9 / 2^30 = {gib:.4g}",
        (Trap(card / gib, "that is in GB"),),
    )


def _kv_per_token(random: Random) -> Question:
    heads, width = random.choice([3, 8, 9, 16, 32]), random.choice([64, 128])
    layers = random.choice([24, 30, 32, 48])
    kib = 2 * heads * width * 2 * layers / 1024
    return Question(
        f"{layers} layers keep K and V of {heads} heads, {width} numbers wide, in 16 bits. How many KiB does "
        "one token leave behind?",
        kib,
        "KiB",
        f"2 x {heads} x {width} x 2 bytes x {layers} / 1024 = {kib:.4g}: K and V, all heads, all layers",
        (
            Trap(1024, "that is in bytes"),
            Trap(0.5, "K and V, two bytes a number?"),
            Trap(1 / layers, "in one layer?"),
        ),
    )


def _positions(random: Random) -> Question:
    prompt, new = random.choice([100, 500, 2000]), random.choice([50, 100, 200])
    cached = prompt + new - 1
    recomputed = sum(prompt + step for step in range(new))
    return Question(
        f"A prompt of {prompt} tokens is answered with {new} tokens. How many times as many positions go "
        "through the model without a cache as with one?",
        recomputed / cached,
        "times",
        f"{recomputed:,} ({prompt} + {prompt + 1} + ... + {cached}) over {cached:,} "
        f"({prompt} + {new} - 1) = {recomputed / cached:.4g}",
    )


def _kv_at_context(random: Random) -> Question:
    kib, context = random.choice([32, 128, 192, 512]), random.choice([4096, 8192, 32768])
    gib = kib * context / 2**20
    return Question(
        f"A token leaves {kib} KiB behind. How many GiB does one reader's cache hold at {context:,} tokens?",
        gib,
        "GiB",
        f"{kib} x {context} / 2^20 = {gib:.4g}",
        (Trap(1024, "that is in MiB"), Trap(1 / 1024, "one 1,024 too many")),
    )


def _outweighing_batch(random: Random) -> Question:
    weights, kib = random.choice([4, 14, 16, 28]), random.choice([64, 128, 512])
    context = random.choice([2048, 4096, 8192])
    one = kib * 1024 * context
    batch = weights * 10**9 / one
    return Question(
        f"Weights of {weights} GB, {kib} KiB of cache per token, {context:,} tokens a reader. For how many "
        "readers does the cache weigh as much as the weights?",
        batch,
        "readers",
        f"{weights} x 10^9 / ({kib} x 1024 x {context}) = {batch:.4g}",
        (Trap(1024, "was a KiB a byte?"), Trap(1 / 1024, "one 1,024 too many")),
    )


TOPICS = (
    Topic("ridge", "00", _ridge),
    Topic("time bound", "00", _bound),
    Topic("GB and GiB", "00", _gibibytes),
    Topic("bytes a token leaves", "01", _kv_per_token),
    Topic("positions processed", "01", _positions),
    Topic("cache at a context", "02", _kv_at_context),
    Topic("batch against weights", "02", _outweighing_batch),
)
