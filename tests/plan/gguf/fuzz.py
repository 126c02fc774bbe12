"""`python -m tests.plan.gguf.fuzz 100000 [SEED]`: damaged headers end in a named error, or in a size."""

import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from memlessons.plan import InvalidPlan
from memlessons.plan.gguf import as_config, read_header, weights_of
from memlessons.plan.gguf.errors import ModelFileError
from memlessons.plan.huggingface import from_huggingface
from tests.plan.fuzzing import fuzz
from tests.plan.gguf.writer import T, gguf

_LLAMA = {
    "general.architecture": "llama", "llama.block_count": 4, "llama.embedding_length": 64,
    "llama.attention.head_count": 8, "llama.attention.head_count_kv": 2, "llama.context_length": 4096,
    "tokenizer.ggml.tokens": ["a", "b", "c"], "llama.expert_count": 2, "llama.expert_used_count": 1,
}  # fmt: skip
_GEMMA = {
    "general.architecture": "gemma3", "gemma3.block_count": 6, "gemma3.embedding_length": 64,
    "gemma3.attention.head_count": 4, "gemma3.attention.head_count_kv": 1, "gemma3.context_length": 8192,
    "gemma3.attention.key_length": 32, "gemma3.attention.value_length": 32,
    "gemma3.attention.sliding_window": 512, "gemma3.expert_count": 2, "gemma3.expert_used_count": 1,
}  # fmt: skip
_HYBRID = {
    "general.architecture": "lfm2", "lfm2.block_count": 4, "lfm2.embedding_length": 64,
    "lfm2.attention.head_count": 8, "lfm2.attention.head_count_kv": [0, 2, 0, 2], "lfm2.shortconv.l_cache": 3,
    "lfm2.context_length": 4096, "lfm2.expert_count": 2, "lfm2.expert_used_count": 1,
}  # fmt: skip
_TENSORS = {
    "token_embd.weight": T((64, 3), 0, 64 * 3 * 4),
    "blk.0.ffn_up_exps.weight": T((32, 4, 2), 1, 32 * 4 * 2 * 2),
    "output.weight": T((32,), 8, 34),
}
SOUND = [gguf(metadata, _TENSORS) for metadata in (_LLAMA, _GEMMA, _HYBRID)]


def damaged(rng: random.Random) -> bytes:
    """A sound file with bytes changed, cut out, repeated or cut short."""
    data = bytearray(rng.choice(SOUND))
    for _ in range(rng.randint(1, 4)):
        at, how = rng.randrange(len(data)), rng.randrange(5)
        if how == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif how == 1:
            data[at : at + 8] = rng.choice([b"\xff" * 8, b"\0" * 8, rng.randbytes(8)])
        elif how == 2:
            del data[at : at + rng.randint(1, 16)]
        elif how == 3:
            data[at:at] = data[at : at + rng.randint(1, 32)]
        else:
            del data[at:]
        if not data:
            return b""
    return bytes(data)


def outcome(path: Path) -> str:
    """What becomes of a file: a size, or which refusal; anything else is raised."""
    try:
        header = read_header(path, arrays_up_to=4096)
        plan = from_huggingface(as_config(header))
        weights = weights_of(header)
    except ModelFileError as error:
        return type(error).__name__
    except InvalidPlan as error:
        return type(error).__name__
    if plan.bytes(1000) <= 0 or weights.stored_bytes <= 0:
        raise AssertionError("a size of nothing")
    return "a size"


def main(examples: int, seed: int = 0) -> None:
    """Damage so many files, and print what became of them and the slowest."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.gguf"

        def example(i: int) -> Callable[[], str]:
            path.write_bytes(damaged(random.Random(f"{seed} {i}")))
            return lambda: outcome(path)

        fuzz(examples, seed, example)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:3] or ["1000"]))
