"""One of the processes that compile for `memlessons.bench.kernels.check.warm`: every `workers`-th case."""

import sys
from contextlib import suppress

import torch

from memlessons.kernels import decode
from memlessons.kernels.cases import cases


def main(words: list[str]) -> None:
    """`words`: which of how many workers this is, then names of dtypes."""
    me, workers = int(words[0]), int(words[1])
    calls = [(case, getattr(torch, name)) for name in words[2:] for case in cases()]
    where = "cuda" if torch.cuda.is_available() else "cpu"
    for case, dtype in calls[me::workers]:
        q, k, v, lengths, options = case.inputs(dtype, where)
        with suppress(Exception):  # whatever is wrong, the check will meet it again, and say it
            decode(q, k, v, lengths, backend="triton", **options)


if __name__ == "__main__":
    main(sys.argv[1:])
