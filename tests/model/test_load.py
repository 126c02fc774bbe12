"""Loading: the right weights behind the right names, the plan that fits, and the real model's answers."""

from pathlib import Path
from typing import Any

import pytest
import torch

from memlessons.model import fetch
from memlessons.model.catalog import _ENTRIES, ModelEntry, WheelSource
from memlessons.model.digests import file_digest
from memlessons.model.fetch import ModelNotFetched, WrongDigest
from memlessons.model.file_errors import UnsupportedModel
from memlessons.model.generate import generate
from memlessons.model.load import UnknownDtype, load, plan_of, weights_of
from memlessons.plan import F16, PlanMismatch
from tests.model.tiny_gguf import Tiny


def test_a_file_loads_into_a_model_that_runs(tiny: Path) -> None:
    model = load(tiny)
    assert (model.name, model.path) == (str(tiny), tiny)
    prompt = model.prompt([{"role": "user", "content": "hello world"}])
    tokens = list(generate(model.decoder, prompt, max_new_tokens=5))
    assert len(tokens) == 5 and all(0 <= t < model.config.vocabulary for t in tokens)


@pytest.mark.parametrize("tied", [True, False])
def test_logits_are_those_of_transformers_on_the_checkpoint_the_file_was_written_from(
    tied: bool, tmp_path: Path, empty_cache: Path
) -> None:
    from transformers import LlamaConfig, LlamaForCausalLM

    tiny = Tiny(tied=tied)
    model = load(tiny.write(tmp_path / "m.gguf"))
    c = model.config
    peer = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=c.vocabulary,
            hidden_size=c.hidden,
            intermediate_size=c.intermediate,
            num_hidden_layers=c.layers,
            num_attention_heads=c.query_heads,
            num_key_value_heads=c.kv_heads,
            head_dim=c.head_width,
            rms_norm_eps=c.norm_eps,
            max_position_embeddings=c.context_tokens,
            rope_parameters={"rope_type": "default", "rope_theta": c.rope_base},
            tie_word_embeddings=tied,
        )
    ).eval()
    names = {
        "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
        "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
        "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj",
        "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
    }  # fmt: skip
    top = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
    state = {}
    for name, array in tiny.tensors.items():
        _, _, rest = name.partition("blk.")
        theirs = f"model.layers.{rest[0]}.{names[rest[2:]]}" if rest else top[name]
        state[f"{theirs}.weight"] = torch.from_numpy(array)
    missing, unexpected = peer.load_state_dict(state, strict=False)
    assert not unexpected and set(missing) <= {"lm_head.weight"}
    tokens = torch.tensor(model.tokenizer.encode("hello world, hello 12 worlds!"))
    with torch.inference_mode():
        want = peer(tokens[None]).logits[0]
    have = model.decoder.read(tokens).logits
    assert (have - want).abs().max() <= 1e-4 * want.abs().max()


def test_the_plan_is_of_the_dtype_and_may_be_another(tiny: Path) -> None:
    model = load(tiny)
    assert model.plan == plan_of(model.config)
    # 2 layers, 2 kv heads, keys and values of width 16, 4 bytes each
    assert model.plan.bytes(10) == 10 * 2 * 2 * 2 * 16 * 4
    half = load(tiny, dtype=torch.bfloat16)
    assert half.plan.bytes(10) * 2 == model.plan.bytes(10)
    assert half.decoder.weights["embed"].dtype == torch.bfloat16
    assert half.weights.stored_bytes * 2 == model.weights.stored_bytes
    with pytest.raises(PlanMismatch):
        load(tiny, plan=model.plan.with_format(F16).with_kv_heads(1))
    with pytest.raises(UnknownDtype, match="int8"):
        load(tiny, dtype=torch.int8)


@pytest.mark.parametrize("tied", [True, False])
def test_weights_of_eight_bits_are_counted_with_their_scales(
    tied: bool, tmp_path: Path, empty_cache: Path
) -> None:
    path = Tiny(tied=tied).write(tmp_path / "m.gguf")
    model, plain = load(path, int8_weights=True), load(path)
    live = sum(w.numel() * w.element_size() for w in model.decoder.weights.values())
    assert model.weights.stored_bytes == live < 0.5 * plain.weights.stored_bytes
    assert model.weights.parameters == plain.weights.parameters
    tokens = torch.tensor(model.tokenizer.encode("hello world"))
    a, b = (m.decoder.read(tokens).logits for m in (model, plain))
    assert 0 < float((a - b).norm() / b.norm()) < 0.05
    state = model.decoder.new_state(capacity=len(tokens))
    steps = [model.decoder.forward(t[None, None], state)[0, 0] for t in tokens]
    assert torch.allclose(torch.stack(steps), a, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("tied", [True, False])
def test_the_weights_are_counted_as_they_lie_in_memory(tied: bool, tmp_path: Path, empty_cache: Path) -> None:
    model = load(Tiny(tied=tied).write(tmp_path / "m.gguf"))
    live = sum(w.numel() * w.element_size() for w in model.decoder.weights.values())
    assert model.weights.stored_bytes == live
    embed = model.decoder.weights["embed"]
    idle = 0 if tied else embed.numel() - embed.shape[1]
    assert model.weights.active_parameters == live // 4 - idle
    assert weights_of(model.config, torch.float16, "x").stored_bytes == live // 2


def test_a_flipped_bit_in_a_catalogued_models_numbers_is_a_wrong_digest(
    tiny: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tiny.parent / "models"
    folder.mkdir()
    path = tiny.rename(folder / "toy.gguf")
    monkeypatch.setenv("MEMLESSONS_MODELS", str(folder))
    source = WheelSource("none", "1", "toy.gguf", 1)
    monkeypatch.setitem(
        _ENTRIES,
        "toy",
        ModelEntry("toy", "toy", "toy.gguf", path.stat().st_size, file_digest(path), "", source),
    )
    whole = path.read_bytes()
    assert load("toy").path == path
    path.write_bytes(whole[:-999] + bytes([whole[-999] ^ 4]) + whole[-998:])
    with pytest.raises(WrongDigest, match=r"toy\.gguf"):
        load("toy")
    path.unlink()
    with pytest.raises(ModelNotFetched, match="memlessons fetch toy"):
        load("toy")


def test_a_vocabulary_that_does_not_fit_the_embedding_is_refused(tmp_path: Path, empty_cache: Path) -> None:
    tiny = Tiny(metadata={"llama.vocab_size": 300})
    rows = tiny.tensors["token_embd"]
    tiny.tensors["token_embd"] = rows.repeat(2, axis=0)[:300]
    with pytest.raises(UnsupportedModel, match="268 tokens.*300 rows"):
        load(tiny.write(tmp_path / "m.gguf"))


def test_a_model_without_a_template_loads_and_says_so_when_asked_to_chat(
    tmp_path: Path, empty_cache: Path
) -> None:
    from memlessons.model.chat_template import TemplateError

    model = load(Tiny(metadata={"tokenizer.chat_template": None}).write(tmp_path / "m.gguf"))
    assert model.chat_template is None
    with pytest.raises(TemplateError, match="no chat template"):
        model.prompt([{"role": "user", "content": "hello"}])


@pytest.mark.model
def test_smollm2_has_the_shape_its_card_says(smollm2: Any) -> None:
    c = smollm2.config
    assert (c.layers, c.hidden, c.query_heads, c.kv_heads, c.head_width) == (30, 576, 9, 3, 64)
    assert (c.intermediate, c.vocabulary, c.context_tokens, c.tied) == (1536, 49_152, 8192, True)
    assert smollm2.weights.parameters == 134_515_008
    assert fetch.locate("smollm2") == smollm2.path


@pytest.mark.model
def test_smollm2_knows_the_capital_of_france(smollm2: Any) -> None:
    prompt = smollm2.prompt([{"role": "user", "content": "What is the capital of France?"}])
    ends = sorted(smollm2.tokenizer.eos_ids)
    answer = smollm2.tokenizer.decode(generate(smollm2.decoder, prompt, max_new_tokens=12, stop=ends))
    assert answer == "The capital of France is Paris."
