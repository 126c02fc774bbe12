"""What a `transformers` cache keeps, counted live: against plans of known sums, and against faults."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.cache_utils import (
    DynamicCache,
    DynamicIndexedLayer,
    EncoderDecoderCache,
    StaticCache,
)

from memlessons.measure import CannotCount, Rounding, audit, audit_transformers
from memlessons.plan import F16, F32, Format, Layer, MemoryPlan, Store, full_attention

TINY = {
    "vocab_size": 64, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
}  # fmt: skip
HYBRID = {
    "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8,
    "linear_value_head_dim": 8, "linear_conv_kernel_dim": 4, "num_experts": 4, "num_experts_per_tok": 2,
    "moe_intermediate_size": 16, "shared_expert_intermediate_size": 16,
}  # fmt: skip
LATENT = {
    "kv_lora_rank": 16, "q_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8,
    "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "n_group": 1,
    "topk_group": 1, "first_k_dense_replace": 1, "num_key_value_heads": 4,
}  # fmt: skip
INDEXED = {"index_head_dim": 8, "index_n_heads": 4, "index_topk": 4}


def tiny(kind: str, **more: Any) -> Any:
    """A tiny model of that type with random weights."""
    torch.manual_seed(0)
    config = AutoConfig.for_model(kind, **(TINY | more))
    return AutoModelForCausalLM.from_config(config).eval()


def ran(model: Any, tokens: int, rows: int = 2, steps: int = 0, cache: Any = None) -> Any:
    """The output after a prompt of `tokens`, then `steps` tokens one by one."""
    cache = DynamicCache(config=model.config) if cache is None else cache
    draw = torch.Generator().manual_seed(1)
    out = None
    with torch.inference_mode():
        for n in [tokens] * (tokens > 0) + [1] * steps:
            ids = torch.randint(0, 64, (rows, n), generator=draw)
            out = model(ids, cache=cache, use_cache=True)
    return out


@pytest.fixture(scope="module")
def smollm2_peer() -> Any:
    from memlessons.bench.peer import llama_peer
    from memlessons.model.load import load

    return llama_peer(load("smollm2").decoder)


@pytest.mark.model
@pytest.mark.parametrize("tokens", [1, 2, 17, 96])
def test_the_peers_smollm2_wastes_nothing(tokens: int, smollm2_peer: Any) -> None:
    plan = full_attention(30, 9, 3, 64, F32)
    for steps in (0, 2):
        out = ran(smollm2_peer, tokens, rows=1, steps=steps)
        account = audit(out)
        comparison = account.against(plan, tokens + steps, tokens + steps)
        assert comparison.waste == 0 and comparison.equal, str(comparison)
        assert account.held_bytes == account.allocated_bytes == plan.bytes(tokens + steps)
        assert account.read_bytes == plan.bytes_read(tokens + steps)


@pytest.mark.parametrize("tokens", [1, 7, 33])
@pytest.mark.parametrize(
    ("kv_heads", "dtype", "format"), [(1, "float32", F32), (2, "bfloat16", F16), (4, "float32", F32)]
)
def test_grouped_heads_waste_nothing(tokens: int, kv_heads: int, dtype: str, format: Format) -> None:
    model = tiny("llama", num_key_value_heads=kv_heads).to(getattr(torch, dtype))
    out = ran(model, tokens, steps=1)
    plan = full_attention(3, 4, kv_heads, 8, format)
    comparison = audit(out).against(plan, [tokens + 1] * 2, tokens + 1)
    assert comparison.equal, str(comparison)


def test_a_cache_an_output_and_a_model_with_its_cache_are_the_same_account() -> None:
    model = tiny("llama")
    out = ran(model, 5)
    cache = out.past_key_values
    account = audit_transformers(cache)
    assert audit(out) == audit(cache) == account == audit_transformers(out)
    named = audit(model, cache)
    assert named == audit(model, out)
    assert [e.what for e in named.entries] == ["self k", "self v"] * 3
    assert "LlamaForCausalLM's DynamicCache" in named.entries[0].source
    assert (named.held_bytes, named.notes) == (account.held_bytes, ())
    assert account.entries[1].shape == (2, 2, 5, 8) and account.entries[1].dtype == "float32"


GEMMA = {
    "num_hidden_layers": 6,
    "sliding_window": 8,
    "layer_types": ["sliding_attention"] * 5 + ["full_attention"],
}
WINDOWED = full_attention(6, 4, 2, 8, F32).with_window(6, 8)
SLOT = 2 * 2 * 8 * 4


@pytest.mark.parametrize("tokens", [1, 6, 7, 8, 9, 30])
def test_windows_waste_nothing_between_steps_and_the_slot_less_is_noted(tokens: int) -> None:
    account = audit(ran(tiny("gemma3_text", **GEMMA), tokens - 1, rows=1, steps=1))
    comparison = account.against(WINDOWED, tokens, tokens)
    assert comparison.waste == 0, str(comparison)
    if tokens < 8:
        assert comparison.equal and not account.notes
        return
    # Kept are the 7 tokens that the next one will see beside itself; nothing else is missing.
    assert account.held_bytes == WINDOWED.bytes(tokens) - 5 * SLOT
    assert comparison.missing == 5 * SLOT
    assert "layers 0-4" in account.notes[0] and "7 tokens of a window of 8" in account.notes[0]


def test_a_prompt_longer_than_the_window_stays_in_memory_until_the_next_token() -> None:
    account = audit(ran(tiny("gemma3_text", **GEMMA), 30, rows=1))
    comparison = account.against(WINDOWED, 30, 30)
    assert comparison.waste == 5 * (30 - 8) * SLOT
    assert "storage nobody uses" in comparison.rows[0].reason
    assert "left the window" in account.notes[1]


def test_a_window_may_be_rounded_up_by_a_named_rule() -> None:
    account = audit(ran(tiny("gemma3_text", **GEMMA), 12, rows=1))
    got = account.against(WINDOWED.with_window(6, 7), 12, 12, roundings=[Rounding("the prompt's", 12)])
    assert {row.verdict for row in got.rows} == {"equal", "rounding"} and got.waste == 0


def hybrid_plan(columns: int) -> MemoryPlan:
    """Three layers of gated-delta state and one that attends, as the peer's configuration says."""
    convolution = (2 * 2 * 8 + 4 * 8) * columns
    state = Store(
        "state", grows_with="nothing", state=((convolution, F32), (4 * 8 * 8, F32)), divides="state"
    )
    attention = full_attention(1, 4, 2, 8, F32).layers
    return MemoryPlan((Layer(0, (state,)),) * 3 + attention)


@pytest.mark.parametrize("tokens", [1, 3, 12])
def test_linear_attention_wastes_nothing_but_a_column_that_is_noted(tokens: int) -> None:
    account = audit(ran(tiny("qwen3_next", num_hidden_layers=4, **HYBRID), tokens, steps=1))
    lengths = [tokens + 1] * 2
    assert account.against(hybrid_plan(4), lengths, tokens + 1).equal
    # What the next token needs is a column less than the kernel.
    lean = account.against(hybrid_plan(3), lengths, tokens + 1)
    assert lean.waste == 3 * 2 * 64 * 4
    assert "layers 0-2" in account.notes[0] and "4 columns" in account.notes[0]
    assert [e.what for e in account.entries[:2]] == ["state convolution 0", "state recurrent 0"]


def test_a_latent_is_one_and_is_named_with_its_model() -> None:
    model = tiny("deepseek_v3", **LATENT)
    cache = ran(model, 9).past_key_values
    plan = MemoryPlan((Layer(4, (Store("latent", 1, 24, 0, 8, key_format=F32),)),) * 3)
    account = audit(model, cache)
    assert account.against(plan, [9, 9], 9).equal
    assert {e.what for e in account.entries} == {"latent k", "latent v"}
    assert {e.what for e in audit(cache).entries} == {"self k", "self v"}
    assert audit(cache).held_bytes == account.held_bytes


def test_an_indexers_keys_are_counted_beside() -> None:
    model = tiny("deepseek_v32", **LATENT, **INDEXED)
    account = audit(model, ran(model, 9, steps=2))
    stores = (Store("latent", 1, 24, 0, 8, key_format=F32), Store("index", 1, 8, key_format=F32))
    assert account.against(MemoryPlan((Layer(4, stores),) * 3), [11, 11], 11).equal
    assert [e.what for e in account.entries[:3]] == ["latent k", "latent v", "index k"]


def test_an_indexers_positions_are_counted_too() -> None:
    layer = DynamicIndexedLayer()
    layer.update(torch.zeros(2, 1, 5, 4), torch.zeros(2, 1, 5, 4))
    layer.update_indexer(torch.zeros(2, 5, 8))
    layer.indexer_position_ids = torch.zeros(3, 2, 5, dtype=torch.int64)
    account = audit(SimpleNamespace(layers=[layer]))
    assert [(e.what, e.held_bytes) for e in account.entries] == [
        ("self k", 160), ("self v", 160), ("index k", 320), ("index positions", 240),
    ]  # fmt: skip


def test_room_of_a_static_cache_is_what_was_asked_for() -> None:
    model = tiny("llama")
    cache = StaticCache(config=model.config, max_cache_len=20)
    account = audit(ran(model, 6, steps=1, cache=cache))
    plan = full_attention(3, 4, 2, 8, F32)
    assert account.against(plan, [7, 7], 20).equal
    assert account.held_bytes == plan.bytes([7, 7]) and account.allocated_bytes == plan.bytes([20, 20])


def test_an_encoders_cross_memory_is_told_apart() -> None:
    own, cross = DynamicCache(), DynamicCache()
    for layer in range(2):
        own.update(torch.zeros(1, 2, 4, 8), torch.zeros(1, 2, 4, 8), layer)
        cross.update(torch.zeros(1, 2, 9, 8), torch.zeros(1, 2, 9, 8), layer)
    account = audit(EncoderDecoderCache(own, cross))
    stores = tuple(
        Store(role, 2, 8, 8, key_format=F32, value_format=F32, grows_with=grows)  # type: ignore[arg-type]
        for role, grows in (("self", "tokens"), ("cross", "encoder_tokens"))
    )
    plan = MemoryPlan((Layer(4, stores),) * 2)
    assert account.against(plan, 4, 4, encoder_tokens=9).equal
    old = tuple((y.keys, y.values, x.keys, x.values) for y, x in zip(own.layers, cross.layers, strict=True))
    assert audit(old).against(plan, 4, 4, encoder_tokens=9).equal


def test_tuples_and_lists_of_older_versions_are_counted() -> None:
    pairs = [(torch.zeros(2, 2, 5, 8), torch.zeros(2, 2, 5, 8)) for _ in range(3)]
    plan = full_attention(3, 4, 2, 8, F32)
    assert audit(tuple(pairs)).against(plan, [5, 5], 5).equal
    old = SimpleNamespace(key_cache=[k for k, _ in pairs], value_cache=[v for _, v in pairs])
    assert audit(old).against(plan, [5, 5], 5).equal


def test_planted_faults_are_found_and_named() -> None:
    out = ran(tiny("llama"), 6, rows=1)
    plan = full_attention(3, 4, 2, 8, F32)
    first, second, third = out.past_key_values.layers
    first.keys = first.keys.repeat_interleave(2, dim=1)
    second.keys = torch.zeros(1, 2, 60, 8)[:, :, :6]
    third.values = third.values.double()
    rows = audit(out).against(plan, 6, 6).rows
    assert [row.verdict for row in rows] == ["waste"] * 3
    assert rows[0].reason == "4 heads kept, 2 planned"
    assert "storage nobody uses: 3,456 B" in rows[1].reason
    assert rows[2].reason == "float64 elements, f32 planned"


def test_layers_that_share_keys_are_counted_once() -> None:
    cache = ran(tiny("llama"), 6, rows=1).past_key_values
    cache.layers[1].keys, cache.layers[1].values = cache.layers[0].keys, cache.layers[0].values
    account = audit(cache)
    assert account.held_bytes == 2 * 6 * SLOT and account.read_bytes == 3 * 6 * SLOT
    assert account.entries[2].what == "self k, shared with layer 0"


def test_nothing_yet_is_nothing() -> None:
    model = tiny("llama")
    for empty in (DynamicCache(), DynamicCache(config=model.config), ()):
        assert audit(empty).entries == () and audit(empty).allocated_bytes == 0
    assert audit(EncoderDecoderCache(DynamicCache(), DynamicCache())).entries == ()


class Strange:
    """A layer of some later version: keys, values, and something more."""

    def __init__(self, **more: Any) -> None:
        self.keys = self.values = torch.zeros(1, 2, 4, 8)
        vars(self).update(more)


def test_what_is_not_known_is_refused_and_named() -> None:
    def layers(*of: Any) -> SimpleNamespace:
        return SimpleNamespace(layers=list(of))

    for cache, word in (
        (object(), "object"), ("text", "str"), (nn.Linear(2, 2), "Linear"), (7, "int"),
        (layers(object()), "object"), (layers(Strange(scales=torch.zeros(1, 2, 4))), "Strange: 'scales'"),
        (layers(Strange(past=[torch.zeros(1, 2)])), "Strange: 'past'"),
        (layers(Strange(past={0: [(torch.zeros(1, 2),)]})), "Strange: 'past'"),
        (SimpleNamespace(layers=[Strange()], linear=[[], torch.zeros(1, 2)]), "Namespace: 'linear'"),
        (layers(Strange(_quantized_keys=object())), "Strange: '_quantized_keys' holds a object"),
        (layers(Strange(keys=torch.zeros(4, 8))), r"Strange: keys of shape \(4, 8\)"),
        (layers(Strange(keys=torch.zeros(1, 2, 4, 8, device="meta"))), "meta"),
        (layers(Strange(max_cache_len=4)), "not how many are filled"),
        (layers(Strange(indexer_keys=torch.zeros(4, 8), indexer_position_ids=None)), "indexer_keys of shape"),
        (((torch.zeros(1, 2, 4, 8),),), "1 items"), (((1, 2),), "int, int"),
        ((torch.zeros(1, 2, 4, 8),), "tuple"),
    ):  # fmt: skip
        with pytest.raises(CannotCount, match=word):
            audit(cache)
    model = tiny("llama")
    with pytest.raises(CannotCount, match=r"LlamaForCausalLM: a model keeps no cache.*audit\(model, cache\)"):
        audit(model)


def test_a_tensor_of_scalars_or_of_nothing_hides_nothing() -> None:
    sound = Strange(step=torch.tensor(3), empty=torch.zeros(0), flags={0: True})
    assert audit(SimpleNamespace(layers=[sound])).held_bytes == 4 * SLOT // 2


def test_the_count_asks_the_library_for_no_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = ran(tiny("llama"), 6).past_key_values

    def refuse(*_: Any) -> int:
        raise AssertionError("asked, not counted")

    monkeypatch.setattr(DynamicCache, "get_seq_length", refuse)
    monkeypatch.setattr(MemoryPlan, "bytes", refuse)
    monkeypatch.setattr(Store, "slot_bytes", property(refuse))
    assert audit(cache).held_bytes == 3 * 2 * 6 * SLOT


def test_torch_and_transformers_are_not_imported_to_recognise_a_cache() -> None:
    import subprocess
    import sys

    code = (
        "import sys, memlessons.measure as m; m.audit_transformers(()); m.read_log; m.read_server\n"
        "print([name for name in ('torch', 'numpy', 'transformers') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_views_of_one_storage_keep_their_shapes() -> None:
    pool: Tensor = torch.zeros(2, 1, 2, 4, 8)
    account = audit((((pool[0], pool[1])),))
    assert account.allocated_bytes == pool.untyped_storage().nbytes() == account.held_bytes
