"""A GGUF file gives its weights in our layout, or a named error: never another one, never garbage."""

import random
import struct
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch

from memlessons.model.config import DecoderConfig, InvalidConfig
from memlessons.model.file_errors import ModelFileError, NotAModel, TruncatedModel, UnsupportedModel
from memlessons.model.gguf_file import read_gguf
from memlessons.plan.gguf.header import read_header
from tests.model import tiny_gguf
from tests.model.conftest import leftovers
from tests.model.tiny_gguf import HEAD_WIDTH, Tiny

KINDS = gguf.GGMLQuantizationType


@pytest.mark.parametrize("tied", [True, False])
def test_weights_are_the_checkpoints_fused_and_half_split(
    tied: bool, tmp_path: Path, empty_cache: Path
) -> None:
    tiny = Tiny(tied=tied)
    read = read_gguf(tiny.write(tmp_path / "m.gguf"))
    want = {"embed": "token_embd", "final_norm": "output_norm"} | ({} if tied else {"unembed": "output"})
    for ours, theirs in want.items():
        assert np.array_equal(read.weights[ours].numpy(), tiny.tensors[theirs])
    for i in range(tiny_gguf.LAYERS):
        parts = {
            "attn_norm": ["attn_norm"], "qkv": ["attn_q", "attn_k", "attn_v"], "out": ["attn_output"],
            "ffn_norm": ["ffn_norm"], "gate_up": ["ffn_gate", "ffn_up"], "down": ["ffn_down"],
        }  # fmt: skip
        for ours, names in parts.items():
            whole = np.concatenate([tiny.tensors[f"blk.{i}.{name}"] for name in names])
            assert np.array_equal(read.weights[f"layers.{i}.{ours}"].numpy(), whole)
    assert len(read.weights) == len(want) + 6 * tiny_gguf.LAYERS
    assert {n: tuple(w.shape) for n, w in read.weights.items()} == read.config.weight_shapes()
    assert all(w.is_contiguous() and w.dtype == torch.float32 for w in read.weights.values())
    assert read.config.tied is tied


def plain_numbers(raw: bytes, kind: gguf.GGMLQuantizationType) -> list[float]:
    """The numbers of quantised blocks, one by one, as ggml-common.h describes the blocks."""
    numbers: list[float] = []
    if kind is KINDS.F16:
        return [x[0] for x in struct.iter_unpack("<e", raw)]
    if kind is KINDS.BF16:
        return [
            struct.unpack("<f", b"\0\0" + bytes(x))[0]
            for x in struct.iter_unpack("2c", raw)
            for x in [b"".join(x)]
        ]
    if kind is KINDS.Q8_0:
        for scale, *codes in struct.iter_unpack("<e32b", raw):
            numbers += [scale * code for code in codes]
    if kind is KINDS.Q4_0:
        for scale, *codes in struct.iter_unpack("<e16B", raw):
            numbers += [scale * ((c & 15) - 8) for c in codes] + [scale * ((c >> 4) - 8) for c in codes]
    if kind is KINDS.Q4_1:
        for scale, least, *codes in struct.iter_unpack("<ee16B", raw):
            numbers += [scale * (c & 15) + least for c in codes] + [scale * (c >> 4) + least for c in codes]
    return numbers


@pytest.mark.parametrize("kind", [KINDS.F16, KINDS.BF16, KINDS.Q8_0, KINDS.Q4_0, KINDS.Q4_1])
def test_quantised_blocks_mean_what_their_description_says(
    kind: gguf.GGMLQuantizationType, tmp_path: Path, empty_cache: Path
) -> None:
    path = Tiny(kinds={"blk.1.ffn_down": kind, "blk.0.attn_k": kind}).write(tmp_path / "m.gguf")
    read = read_gguf(path)
    tensors = {t.name: t for t in gguf.GGUFReader(path).tensors}
    raw = {name: bytes(tensors[f"{name}.weight"].data) for name in ("blk.1.ffn_down", "blk.0.attn_k")}
    down = np.array(plain_numbers(raw["blk.1.ffn_down"], kind)).reshape(tiny_gguf.HIDDEN, -1)
    assert np.allclose(read.weights["layers.1.down"].numpy(), down, rtol=1e-6, atol=1e-7)
    keys = np.array(plain_numbers(raw["blk.0.attn_k"], kind)).reshape(-1, tiny_gguf.HIDDEN)
    start = tiny_gguf.QUERY_HEADS * HEAD_WIDTH
    ours = read.weights["layers.0.qkv"].numpy()[start : start + len(keys)]
    assert np.allclose(tiny_gguf.interleaved(ours), keys, rtol=1e-6, atol=1e-7)


def test_the_header_is_what_the_gguf_package_reads(tiny: Path) -> None:
    header, reader = read_header(tiny), gguf.GGUFReader(tiny)
    fields = {k: f.contents() for k, f in reader.fields.items() if not k.startswith("GGUF.")}
    assert header.metadata == fields
    assert header.data_start == reader.data_offset
    found = {
        t.name: (tuple(t.shape[::-1].tolist()), int(t.tensor_type), t.data_offset) for t in reader.tensors
    }
    assert {t.name: (t.shape, t.type_number, t.start) for t in header.tensors.values()} == found


def test_the_config_is_what_the_metadata_say(tiny: Path) -> None:
    assert read_gguf(tiny).config == DecoderConfig(
        layers=2, hidden=64, query_heads=4, kv_heads=2, head_width=16, intermediate=96,
        vocabulary=len(tiny_gguf.vocabulary()[0]), rope_base=10_000.0, norm_eps=float(np.float32(1e-5)),
        context_tokens=64, tied=True,
    )  # fmt: skip


def test_a_file_cut_anywhere_gives_a_named_error_and_leaves_nothing(tiny: Path, empty_cache: Path) -> None:
    whole, stream = tiny.read_bytes(), random.Random(0)
    end = read_header(tiny).data_start
    cuts = [0, 1, 3, 4, 5, 8, 23, 24, 25, end - 1, end, end + 1, len(whole) - 33, len(whole) - 1]
    for cut in [*cuts, *stream.sample(range(24, end), 150), *stream.sample(range(end, len(whole)), 20)]:
        tiny.write_bytes(whole[:cut])
        with pytest.raises(NotAModel if cut < 24 else TruncatedModel, match="tiny"):
            read_gguf(tiny)
    assert not [name for name in leftovers(empty_cache) if name.startswith("weights")]


def test_a_flipped_bit_in_the_header_is_a_named_error_or_harmless(tiny: Path) -> None:
    whole, stream = tiny.read_bytes(), random.Random(0)
    end, refused = read_header(tiny).data_start, 0
    # The first kilobyte (magic, counts, keys, types, lengths), then a sample of the vocabulary and tensors.
    for bit in [*range(0, 8 * 1024, 7), *stream.sample(range(8 * 1024, 8 * end), 300)]:
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        tiny.write_bytes(damaged)
        try:
            read = read_gguf(tiny, cached=False)
        except ModelFileError as error:
            refused += 1
            assert str(tiny) in str(error)
        else:
            assert {n: tuple(w.shape) for n, w in read.weights.items()} == read.config.weight_shapes()
    assert refused > 400


def test_every_number_in_the_header_may_be_absurd(tiny: Path) -> None:
    whole = tiny.read_bytes()
    for place in range(4, 400, 4):
        for absurd in (b"\xff" * 8, b"\xff" * 7 + b"\x7f", struct.pack("<Q", 1 << 40)):
            tiny.write_bytes(whole[:place] + absurd + whole[place + 8 :])
            try:
                read_gguf(tiny, cached=False)
            except ModelFileError as error:
                assert str(tiny) in str(error)


@pytest.mark.parametrize(
    ("content", "error", "says"),
    [
        (b"", NotAModel, "0 bytes"),
        (b"# Notes\nThis is no model.\n", NotAModel, "begins with"),
        (b"PK\x03\x04" + bytes(100), NotAModel, "begins with"),
        (b"GGUF" + struct.pack("<I", 1) + bytes(16), UnsupportedModel, "version 1"),
        (b"GGUF" + struct.pack("<I", 4) + bytes(16), UnsupportedModel, "version 4"),
        (b"GGUF" + struct.pack(">I", 3) + bytes(16), UnsupportedModel, "big endian"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 0), UnsupportedModel, "general.architecture"),
    ],
)
def test_what_is_no_model_is_refused_by_name(
    content: bytes, error: type[ModelFileError], says: str, tmp_path: Path, empty_cache: Path
) -> None:
    path = tmp_path / "thing.gguf"
    path.write_bytes(content)
    with pytest.raises(error, match=says):
        read_gguf(path)


def test_a_folder_is_refused_by_name(tmp_path: Path, empty_cache: Path) -> None:
    with pytest.raises(NotAModel, match="cannot be read"):
        read_gguf(tmp_path)


def broken(tmp_path: Path, **changes: object) -> Path:
    return Tiny(**changes).write(tmp_path / "m.gguf")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("metadata", "says"),
    [
        ({"llama.block_count": 3}, r"blk\.2\.attn_norm.*missing"),
        ({"llama.block_count": 1}, r"blk\.1\..*no place"),
        ({"llama.block_count": 0}, "layers=0"),
        ({"llama.attention.head_count": 3}, "head width 21"),
        ({"llama.attention.head_count_kv": 3}, "not a multiple"),
        ({"llama.attention.head_count": [4, 2]}, "one number for all layers"),
        ({"llama.attention.head_count_kv": 4}, "attn_q.*shape"),
        ({"llama.feed_forward_length": 64}, "ffn_gate.*shape"),
        ({"llama.vocab_size": 100}, "token_embd.*shape"),
        ({"llama.rope.dimension_count": 8}, "rope.dimension_count=8"),
        ({"llama.rope.scaling.type": "yarn"}, "yarn"),
        ({"llama.attention.layer_norm_rms_epsilon": 0.0}, "norm_eps=0.0"),
        ({"llama.attention.layer_norm_rms_epsilon": float("nan")}, "norm_eps=nan"),
        ({"llama.context_length": None}, "context_length: missing"),
    ],
)
def test_metadata_that_do_not_fit_are_refused_by_name(
    metadata: dict[str, object], says: str, tmp_path: Path, empty_cache: Path
) -> None:
    with pytest.raises(UnsupportedModel, match=says):
        read_gguf(broken(tmp_path, metadata=metadata))


def test_another_architecture_is_refused_by_name(tmp_path: Path, empty_cache: Path) -> None:
    with pytest.raises(UnsupportedModel, match="'qwen2'"):
        read_gguf(broken(tmp_path, arch="qwen2"))


def test_a_missing_or_extra_tensor_is_refused_by_name(tmp_path: Path, empty_cache: Path) -> None:
    tiny = Tiny()
    bias = tiny.tensors["blk.1.attn_q_bias"] = np.zeros((8, 64), np.float32)
    with pytest.raises(UnsupportedModel, match="attn_q_bias"):
        read_gguf(tiny.write(tmp_path / "extra.gguf"))
    del tiny.tensors["blk.1.attn_q_bias"], tiny.tensors["blk.0.ffn_up"], bias
    with pytest.raises(UnsupportedModel, match=r"blk\.0\.ffn_up"):
        read_gguf(tiny.write(tmp_path / "missing.gguf"))


def test_numbers_that_are_not_finite_are_refused_by_name(tmp_path: Path, empty_cache: Path) -> None:
    tiny = Tiny()
    tiny.tensors["blk.1.ffn_down"][3, 4] = np.nan
    with pytest.raises(NotAModel, match=r"blk\.1\.ffn_down.*not finite"):
        read_gguf(tiny.write(tmp_path / "m.gguf"))


def test_a_tensor_outside_the_file_and_an_unknown_type_are_refused_by_name(tiny: Path) -> None:
    whole = tiny.read_bytes()
    name = b"blk.1.ffn_down.weight"
    entry = whole.rindex(name) + len(name) + 4 + 2 * 8
    far = struct.pack("<IQ", 0, 1 << 40)
    tiny.write_bytes(whole[:entry] + far + whole[entry + len(far) :])
    with pytest.raises(TruncatedModel, match="ffn_down"):
        read_gguf(tiny)
    for number, says in ((200, "unknown type 200"), (16, "IQ2_XXS|whole blocks")):
        tiny.write_bytes(whole[:entry] + struct.pack("<I", number) + whole[entry + 4 :])
        with pytest.raises(ModelFileError, match=says):
            read_gguf(tiny)


def test_a_config_names_the_field_the_value_and_the_rule() -> None:
    good = {
        "layers": 2, "hidden": 64, "query_heads": 4, "kv_heads": 2, "head_width": 16, "intermediate": 96,
        "vocabulary": 10, "rope_base": 1e4, "norm_eps": 1e-5, "context_tokens": 64, "tied": True,
    }  # fmt: skip
    DecoderConfig(**good)
    for name, value in [("layers", 0), ("hidden", 2.5), ("kv_heads", 3), ("head_width", 15), ("tied", 1),
                        ("rope_base", 0), ("norm_eps", float("inf")), ("vocabulary", True)]:  # fmt: skip
        with pytest.raises(InvalidConfig, match=f"{name}={value}"):
            DecoderConfig(**good | {name: value})
