"""The header reader: long arrays stepped over, and every damaged file a named error at once."""

import random
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memlessons.plan.gguf import (
    LongArray,
    ModelFileError,
    NotAModel,
    TruncatedModel,
    UnsupportedModel,
    as_config,
    read_header,
    weights_of,
)
from tests.plan.gguf import fuzz
from tests.plan.gguf.writer import Raw, T, attention, gguf, of, text, write

WORDS = [f"word {i} è" for i in range(9)]


def small() -> bytes:
    metadata = of("llama", **attention(2, 64, 4, [2, 2]), rope__freq_base=1e4) | {
        "tokenizer.ggml.tokens": WORDS, "tokenizer.ggml.scores": [0.5] * 9, "general.name": "a small one",
    }  # fmt: skip
    tensors = {"token_embd.weight": T((64, 9), 8, 9 * 68), "blk.0.attn_q.weight": T((64, 64), 0, 4 * 64 * 64)}
    return gguf(metadata, tensors)


def everything(path: Path) -> None:
    """All that sizing does with a file."""
    header = read_header(path, arrays_up_to=4)
    as_config(header)
    weights_of(header)


def test_long_arrays_are_stepped_over_and_all_else_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(small())
    whole, short = read_header(path), read_header(path, arrays_up_to=8)
    assert short.metadata["tokenizer.ggml.tokens"] == LongArray(8, 9)
    assert short.metadata["tokenizer.ggml.scores"] == LongArray(12, 9)
    assert whole.metadata["tokenizer.ggml.tokens"] == WORDS
    kept = {k: v for k, v in whole.metadata.items() if not k.startswith("tokenizer")}
    assert {k: v for k, v in short.metadata.items() if not k.startswith("tokenizer")} == kept
    assert (whole.tensors, whole.data_start) == (short.tensors, short.data_start)
    assert as_config(whole) == as_config(short)
    assert as_config(short)["vocab_size"] == 9


def test_every_truncation_is_a_named_error(tmp_path: Path) -> None:
    path, content = tmp_path / "m.gguf", small()
    path.write_bytes(content)
    everything(path)
    end = read_header(path).data_start
    for cut in [*range(end), *range(end, len(content) - 31, 997)]:
        path.write_bytes(content[:cut])
        with pytest.raises(NotAModel if cut < 24 else TruncatedModel, match="m.gguf"):
            everything(path)


def test_a_file_whose_data_have_not_arrived_can_be_sized_in_part(tmp_path: Path) -> None:
    path, content = tmp_path / "m.gguf", small()
    path.write_bytes(content)
    whole = weights_of(read_header(path))
    path.write_bytes(content[: read_header(path).data_start])
    with pytest.raises(TruncatedModel, match="token_embd"):
        weights_of(read_header(path))
    assert weights_of(read_header(path), partial=True) == whole


def test_flipped_bits_are_a_named_error_or_harmless(tmp_path: Path) -> None:
    path, content, refused = tmp_path / "m.gguf", small(), 0
    path.write_bytes(content)
    for bit in range(0, 8 * read_header(path).data_start, 3):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        try:
            everything(path)
        except ModelFileError:
            refused += 1
    assert refused > 500


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(junk=st.binary(max_size=300), begin=st.sampled_from([b"", b"GGUF", b"GGUF\x03\0\0\0"]))
def test_random_bytes_are_a_named_error(junk: bytes, begin: bytes, tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(begin + junk)
    with pytest.raises(ModelFileError):
        everything(path)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_bytes_written_over_a_sound_header_are_a_named_error_or_harmless(
    data: st.DataObject, tmp_path: Path
) -> None:
    path, content = tmp_path / "m.gguf", small()
    at = data.draw(st.integers(4, 700))
    over = data.draw(st.binary(min_size=1, max_size=9))
    path.write_bytes(content[:at] + over + content[at + len(over) :])
    try:
        everything(path)
    except ModelFileError as error:
        assert str(error)


@pytest.mark.parametrize("huge", [10**12, 2**63, 2**64 - 1])
def test_counts_that_no_file_can_hold_are_a_named_error_at_once(huge: int, tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    count = struct.pack("<Q", huge)
    key = text("llama.block_count")
    for content in (
        b"GGUF" + struct.pack("<I", 3) + count + struct.pack("<Q", 1),
        b"GGUF" + struct.pack("<IQ", 3, 0) + count,
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + count,
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + key + struct.pack("<I", 8) + count,
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + key + struct.pack("<II", 9, 8) + count,
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + key + struct.pack("<II", 9, 4) + count,
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + key + struct.pack("<II", 9, 7) + count,
    ):
        path.write_bytes(content + bytes(200))
        for most in (None, 10):
            with pytest.raises(TruncatedModel, match="m.gguf"):
                read_header(path, arrays_up_to=most)


def test_nested_arrays_however_deep_are_a_named_error(tmp_path: Path) -> None:
    deep = struct.pack("<IQ", 9, 1) * 100_000 + struct.pack("<IQ", 4, 0)
    path = write(tmp_path / "m.gguf", {"general.architecture": "llama", "llama.x": Raw(9, deep)})
    with pytest.raises(UnsupportedModel, match="array of arrays"):
        read_header(path, arrays_up_to=4)


def test_a_tensor_of_absurd_dims_is_a_named_error(tmp_path: Path) -> None:
    for dims in ((2**63, 2**63), (2**40,), (0,), (2**62, 2**62, 2**62, 2**62)):
        path = write(tmp_path / "m.gguf", of("llama", **attention(2, 64, 4)), {"token_embd.weight": T(dims)})
        with pytest.raises(ModelFileError, match="damaged"):
            weights_of(read_header(path))
        if dims != (2**40,):  # a size that a model not yet arrived might have
            with pytest.raises(ModelFileError, match="damaged"):
                weights_of(read_header(path), partial=True)


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.gguf"):
        with pytest.raises(NotAModel, match="cannot be read"):
            read_header(path)


def test_sizing_a_header_loads_no_heavy_package() -> None:
    code = (
        "import sys, memlessons.plan.gguf\n"
        "print([n for n in ('torch', 'numpy', 'gguf', 'rich', 'typer') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr


def test_damaged_files_end_in_a_named_error_or_in_a_size(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    found = set()
    for i in range(1500):
        path.write_bytes(fuzz.damaged(random.Random(i)))
        found.add(fuzz.outcome(path))
    assert {"a size", "TruncatedModel", "NotAModel", "BadMetadata"} <= found
