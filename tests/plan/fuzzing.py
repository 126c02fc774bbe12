"""The loop of both fuzzers: damage, see what becomes of it, count, and keep the slowest."""

import time
from collections import Counter
from collections.abc import Callable


def fuzz(examples: int, seed: int, outcome: Callable[[int], Callable[[], str]]) -> None:
    """Run so many examples and print what became of them; `outcome(i)` prepares one, and its call is timed.

    What an example raises is no named refusal: it is printed with the seed and number that make it again.
    """
    found: Counter[str] = Counter()
    slowest = 0.0
    for i in range(examples):
        example = outcome(i)
        begin = time.perf_counter()
        try:
            found[example()] += 1
        except Exception as error:
            found[f"{type(error).__name__}: {str(error)[:80]}"] += 1
            print(f"example {seed} {i}: {error!r:.300}", flush=True)
        slowest = max(slowest, time.perf_counter() - begin)
    for name, count in found.most_common():
        print(f"{count:8,} {name}")
    print(f"slowest {slowest:.3f} s")
