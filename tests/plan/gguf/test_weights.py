"""Weights from a table of tensors: bytes as ggml lays them out, experts by their share, split models."""

import random
from pathlib import Path

import gguf
import pytest

from memlessons.plan.gguf import (
    BadMetadata,
    MissingParts,
    NotAModel,
    UnknownTensorType,
    UnsupportedModel,
    as_config,
    read_header,
    weights_of,
)
from memlessons.plan.gguf.types import TENSOR_TYPES
from memlessons.plan.huggingface import from_huggingface
from tests.plan.gguf.writer import T, attention, of, write

MOE = of("qwen3moe", **attention(2, 64, 4, 2), expert_count=8, expert_used_count=2)


def f32(*dims: int) -> T:
    size = 4
    for n in dims:
        size *= n
    return T(dims, 0, size)


def test_the_types_are_those_of_the_gguf_package() -> None:
    """Its table is written by ggml's authors; numbers it no longer lists stand in files of 2024."""
    theirs = {int(kind): (kind.name, *sizes) for kind, sizes in gguf.GGML_QUANT_SIZES.items()}
    # A Q8_1 block (never stored) has two scales of 2 bytes in ggml-common.h; the package still says 4.
    assert theirs.pop(9) == ("Q8_1", 32, 40)
    assert {n: tuple(kind) for n, kind in TENSOR_TYPES.items() if n in theirs} == theirs


def test_bytes_and_parameters_are_exact_for_every_type(tmp_path: Path) -> None:
    for number, kind in TENSOR_TYPES.items():
        row, rows = 3 * kind.block_elements, 5
        size = rows * 3 * kind.block_bytes
        tensors = {"output_norm.weight": f32(7), "blk.0.ffn_up.weight": T((row, rows), number, size)}
        found = weights_of(read_header(write(tmp_path / "m.gguf", of("llama"), tensors)))
        assert (found.stored_bytes, found.parameters) == (28 + size, 7 + row * rows), kind.name
        assert found.active_parameters == found.parameters
        assert kind.name in found.source


@pytest.mark.parametrize("number", [4, 5, 42, 137, 2**32 - 1])
def test_an_unknown_type_is_named(number: int, tmp_path: Path) -> None:
    path = write(tmp_path / "m.gguf", of("llama"), {"token_embd.weight": T((256, 4), number, 64)})
    with pytest.raises(UnknownTensorType, match=rf"token_embd.*number {number}"):
        weights_of(read_header(path))


def test_rows_that_are_no_whole_blocks_are_damage(tmp_path: Path) -> None:
    path = write(tmp_path / "m.gguf", of("llama"), {"token_embd.weight": T((128, 4), 12, 288)})
    with pytest.raises(NotAModel, match="no whole blocks of 256"):
        weights_of(read_header(path))


def test_tensors_that_overlap_are_damage(tmp_path: Path) -> None:
    path = write(tmp_path / "m.gguf", of("llama"), {"a.weight": T((64, 4), 0, 32), "b.weight": f32(64, 64)})
    with pytest.raises(NotAModel, match="before the one ahead of it ends"):
        weights_of(read_header(path))


def test_a_token_touches_its_share_of_the_experts_and_all_else(tmp_path: Path) -> None:
    tensors = {
        "token_embd.weight": f32(64, 10), "blk.0.ffn_gate_inp.weight": f32(64, 8),
        "blk.0.ffn_gate_exps.weight": f32(64, 32, 8), "blk.0.ffn_down_exps.weight": f32(32, 64, 8),
        "blk.0.ffn_gate_up_exps.bias": f32(32, 8), "blk.0.ffn_up_chexps.weight": f32(64, 4, 4),
        "blk.0.ffn_up_shexp.weight": f32(64, 16),
    }  # fmt: skip
    found = weights_of(read_header(write(tmp_path / "m.gguf", MOE, tensors)))
    always, routed, grouped = 640 + 512 + 1024, 2 * 64 * 32 * 8 + 32 * 8, 64 * 4 * 4
    assert found.parameters == always + routed + grouped
    assert found.active_parameters == always + routed * 2 // 8 + grouped * 2 // 4
    assert found.stored_bytes == 4 * found.parameters


def test_experts_in_tensors_of_their_own_count_by_their_share_too(tmp_path: Path) -> None:
    tensors = {f"blk.0.ffn_gate.{i}.weight": f32(64, 32) for i in range(8)} | {"output.weight": f32(64, 3)}
    found = weights_of(read_header(write(tmp_path / "m.gguf", MOE, tensors)))
    assert found.active_parameters == 64 * 3 + 2 * 64 * 32


def test_layers_that_draft_are_stored_and_not_touched_and_tables_are_looked_up(tmp_path: Path) -> None:
    metadata = of("glm4moe", **attention(3, 64, 4, 2, nextn_predict_layers=1))
    tensors = {f"blk.{i}.attn_q.weight": f32(64, 64) for i in range(3)}
    tensors["per_layer_token_embd.weight"] = f32(64, 100)
    found = weights_of(read_header(write(tmp_path / "m.gguf", metadata, tensors)))
    assert (found.parameters, found.active_parameters) == (3 * 4096 + 6400, 2 * 4096 + 6400)
    assert (found.lookup_parameters, found.lookup_bytes) == (6400, 4 * 6400)
    assert found.multiplied_parameters == 2 * 4096


@pytest.mark.parametrize("apart", [True, False])
def test_an_embedding_is_looked_up_unless_it_is_the_output_layer(tmp_path: Path, apart: bool) -> None:
    tensors = {"token_embd.weight": f32(64, 100), "blk.0.attn_q.weight": f32(64, 64)}
    if apart:
        tensors["output.weight"] = f32(64, 100)
    found = weights_of(read_header(write(tmp_path / "m.gguf", of("llama"), tensors)))
    assert found.lookup_parameters == (6400 if apart else 0)
    assert found.lookup_bytes == 4 * found.lookup_parameters
    assert found.multiplied_parameters == 6400 + 4096
    assert found.head_parameters == 6400
    assert found.expert_share is None


def test_the_share_of_experts_is_of_those_that_the_header_counts(tmp_path: Path) -> None:
    tensors = {"blk.0.ffn_up_exps.weight": f32(64, 32, 8), "output.weight": f32(64, 3)}
    assert weights_of(read_header(write(tmp_path / "m.gguf", MOE, tensors))).expert_share == 2 / 8
    plain = {"output.weight": f32(64, 3)}
    assert weights_of(read_header(write(tmp_path / "n.gguf", MOE, plain))).expert_share is None


def test_experts_without_a_count_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "m.gguf", of("qwen3moe"), {"blk.0.ffn_up_exps.weight": f32(64, 32, 8)})
    with pytest.raises(UnsupportedModel, match="expert_used_count is missing"):
        weights_of(read_header(path))
    wrong = of("qwen3moe", expert_count=2, expert_used_count=3)
    path = write(tmp_path / "m.gguf", wrong, {"blk.0.ffn_up_exps.weight": f32(64, 32, 8)})
    with pytest.raises(BadMetadata, match="expert_used_count=3"):
        weights_of(read_header(path))
    for bad in ("8", -1, 1e30, float("nan"), [8], 2**40):
        path = write(tmp_path / "m.gguf", MOE | {"qwen3moe.expert_count": bad}, {"output.weight": f32(64)})
        with pytest.raises(BadMetadata, match="expert_count"):
            weights_of(read_header(path))


def test_a_vocabulary_alone_has_no_weights(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedModel, match="no tensors"):
        weights_of(read_header(write(tmp_path / "m.gguf", of("llama"))))


def test_the_gguf_package_counts_the_same(tmp_path: Path) -> None:
    stream, tensors = random.Random(0), {}
    for i, number in enumerate(n for n in TENSOR_TYPES if n in set(map(int, gguf.GGML_QUANT_SIZES)) - {9}):
        kind, rows = TENSOR_TYPES[number], stream.randrange(1, 9)
        blocks = stream.randrange(1, 4)
        tensors[f"t{i}"] = T((blocks * kind.block_elements, rows), number, rows * blocks * kind.block_bytes)
    path = write(tmp_path / "m.gguf", of("llama"), tensors)
    found, reader = weights_of(read_header(path)), gguf.GGUFReader(path)
    assert found.parameters == sum(int(t.n_elements) for t in reader.tensors)
    assert found.stored_bytes == sum(int(t.n_bytes) for t in reader.tensors)


def split(folder: Path, count: int = 3) -> list[Path]:
    """A model of three tensors in three files, as llama-gguf-split writes them."""
    paths = []
    for i in range(count):
        metadata = of("llama", **attention(2, 64, 4, 2)) if i == 0 else {}
        metadata |= {"split.no": i, "split.count": count, "split.tensors.count": count}
        path = folder / f"model-{i + 1:05}-of-{count:05}.gguf"
        paths.append(write(path, metadata, {f"blk.{i}.attn_q.weight": f32(64, 2**i)}))
    return paths


def test_a_split_model_is_summed_from_whichever_part(tmp_path: Path) -> None:
    paths = split(tmp_path)
    found = [weights_of(read_header(path)) for path in paths]
    assert [w.parameters for w in found] == [64 * 7] * 3
    assert found[0] == found[1] == found[2]
    assert as_config(read_header(paths[0]))["num_hidden_layers"] == 2


def test_one_part_alone_is_refused_by_name(tmp_path: Path) -> None:
    paths = split(tmp_path)
    with pytest.raises(MissingParts, match=r"part 2 of 3.*model-00001-of-00003\.gguf"):
        as_config(read_header(paths[1]))
    paths[2].unlink()
    with pytest.raises(MissingParts, match=r"model-00003-of-00003\.gguf does not lie beside it"):
        weights_of(read_header(paths[0]))
    renamed = paths[0].rename(tmp_path / "mine.gguf")
    with pytest.raises(MissingParts, match="give the parts their names back"):
        weights_of(read_header(renamed))


def test_parts_of_different_models_are_refused(tmp_path: Path) -> None:
    paths = split(tmp_path)
    metadata = {"split.no": 1, "split.count": 3, "split.tensors.count": 3}
    write(paths[1], metadata, {"blk.0.attn_q.weight": f32(64)})
    with pytest.raises(BadMetadata, match="parts of different models"):
        weights_of(read_header(paths[0]))
    write(paths[1], metadata | {"split.no": 2}, {"blk.1.attn_q.weight": f32(64)})
    with pytest.raises(BadMetadata, match="calls itself part"):
        weights_of(read_header(paths[0]))
    for bad in ("1", -1, 7, 1.5, 2**40):
        path = write(paths[0], of("llama") | {"split.no": bad, "split.count": 3}, {"output.weight": f32(64)})
        with pytest.raises(BadMetadata, match="split"):
            weights_of(read_header(path))


@pytest.mark.model
def test_the_model_of_the_book_has_its_published_size() -> None:
    from memlessons.model.fetch import locate

    header = read_header(locate("smollm2"), arrays_up_to=4096)
    found = weights_of(header)
    assert (found.parameters, found.stored_bytes) == (134_515_008, 96_576_768)
    assert header.data_start + found.stored_bytes == header.file_bytes == 98_362_432
    plan = from_huggingface(as_config(header))
    assert plan.bytes(1000) == 1000 * 30 * 2 * 3 * 64 * 2
