"""The decoder: one truth, however the text is cut, batched, interrupted or taken back."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from memlessons.cache import CacheFull, ConversationState
from memlessons.kernels import decode
from memlessons.model import attention
from memlessons.model.decoder import Decoder, WrongWeights
from memlessons.model.rope import PositionOutOfRange
from memlessons.plan import F64, INT8, Format, PlanMismatch, full_attention
from tests.model import small

TOKENS = [3, 14, 15, 9, 2, 6, 5, 35, 8, 9, 7, 9]
SHAPES = [(4, 2), (4, 4), (4, 1), (6, 2), (3, 3)]


def poisoned(decoder: Decoder, batch: int, capacity: int) -> ConversationState:
    """A new state whose unused slots hold NaN, as freshly allocated memory may."""
    state = decoder.new_state(batch, capacity)
    for memory in state.memories():
        for t in memory.tensors():
            t.fill_(float("nan") if t.is_floating_point() else 99)
    return state


def worst(a: torch.Tensor, b: torch.Tensor) -> float:
    return float((a - b).abs().max())


@pytest.mark.parametrize(("query_heads", "kv_heads"), SHAPES)
def test_full_recompute_equals_the_formulas(query_heads: int, kv_heads: int) -> None:
    d = small.decoder(small.config(query_heads, kv_heads))
    assert worst(d.read(torch.tensor(TOKENS)).logits, small.plain_logits(d, TOKENS)) < 1e-10


@pytest.mark.parametrize(("query_heads", "kv_heads"), SHAPES)
@pytest.mark.parametrize("split", range(1, len(TOKENS)))
def test_two_chunks_equal_full_recompute_at_every_split(query_heads: int, kv_heads: int, split: int) -> None:
    d = small.decoder(small.config(query_heads, kv_heads))
    state = poisoned(d, 1, 20)
    parts = [
        d.forward(torch.tensor([TOKENS[:split]]), state),
        d.forward(torch.tensor([TOKENS[split:]]), state),
    ]
    assert worst(torch.cat(parts, 1)[0], d.read(torch.tensor(TOKENS)).logits) < 1e-10


def test_token_by_token_equals_full_recompute() -> None:
    d = small.decoder(small.config())
    state = poisoned(d, 1, len(TOKENS))
    steps = [d.forward(torch.tensor([[t]]), state)[0, 0] for t in TOKENS]
    assert worst(torch.stack(steps), d.read(torch.tensor(TOKENS)).logits) < 1e-10


@pytest.mark.parametrize("split", range(1, len(TOKENS)))
def test_with_int8_memory_two_chunks_equal_token_by_token_at_every_split(split: int) -> None:
    """Quantise, then attend, also to a chunk's own keys and values."""
    d = small.decoder(small.config(), small.plan().with_format(INT8))
    state, other = poisoned(d, 1, 20), poisoned(d, 1, 20)
    chunks = [d.forward(torch.tensor([t]), state) for t in (TOKENS[:split], TOKENS[split:])]
    steps = [d.forward(torch.tensor([[t]]), other) for t in TOKENS]
    assert worst(torch.cat(chunks, 1), torch.cat(steps, 1)) < 1e-10
    plain = small.decoder(small.config()).read(torch.tensor(TOKENS)).logits
    assert 0 < worst(torch.cat(steps, 1)[0], plain) < 0.1 * plain.abs().max()


@pytest.mark.parametrize("lengths", [[3, 3], [9, 2]])
@pytest.mark.parametrize("format", [F64, INT8])
def test_the_decode_kernel_and_torch_give_the_same_step(
    lengths: list[int], format: Format, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attention, "TWIN_SLOTS", 1)
    calls = []
    monkeypatch.setattr(attention, "decode", lambda *a, **o: calls.append(1) or decode(*a, **o))
    logits = []
    for kernels in (True, False):
        d = small.decoder(small.config(), small.plan().with_format(format))
        d.kernels = kernels
        state = poisoned(d, 2, 12)
        d.forward(torch.tensor([TOKENS[:9], TOKENS[3:]]), state, lengths)
        logits.append(d.forward(torch.tensor([[7], [11]]), state))
    assert worst(*logits) < 1e-10
    assert len(calls) == 2  # a layer each, of the first decoder alone


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_ragged_batches_with_aborts_and_truncation_equal_each_row_alone(data: st.DataObject) -> None:
    batch = data.draw(st.integers(1, 3))
    query_heads, kv_heads = data.draw(st.sampled_from(SHAPES))
    d = small.decoder(small.config(query_heads, kv_heads))
    state = poisoned(d, batch, 24)
    texts: list[list[int]] = [[] for _ in range(batch)]
    for _ in range(data.draw(st.integers(1, 5))):
        longest = data.draw(st.integers(1, 5))
        if max(map(len, texts)) + longest > 24:
            break
        counts = [data.draw(st.integers(0, longest)) for _ in range(batch)]
        chunk = torch.randint(0, 50, (batch, longest))
        before = [list(m.host_lengths) for m in state.memories()]
        if data.draw(st.booleans()):
            with interrupted(state), pytest.raises(KeyboardInterrupt):
                d.forward(chunk, state, counts)
            assert [list(m.host_lengths) for m in state.memories()] == before
        logits = d.forward(chunk, state, counts)
        for row, count in enumerate(counts):
            texts[row] += chunk[row, :count].tolist()
            if count:
                alone = d.read(torch.tensor(texts[row])).logits[-count:]
                assert worst(logits[row, :count], alone) < 1e-10
        keep = [data.draw(st.integers(0, len(t))) for t in texts]
        assert state.truncate(keep) == keep
        texts = [t[:n] for t, n in zip(texts, keep, strict=True)]
    assert state.lengths == [len(t) for t in texts]


class interrupted:
    """The last layer's write fails, after the others have written."""

    def __init__(self, state: ConversationState) -> None:
        self.memory = state.layers[-1][0]

    def __enter__(self) -> None:
        def stop(*_: object) -> None:
            raise KeyboardInterrupt

        self.memory.write = stop

    def __exit__(self, *_: object) -> None:
        del self.memory.write


def test_one_kv_head_per_query_head_is_mha_and_one_for_all_is_mqa() -> None:
    """Grouped heads equal plain heads whose K and V weights are repeated for each query head."""
    for kv_heads in (1, 2):
        d = small.decoder(small.config(4, kv_heads))
        c = small.config(4, 4)
        weights = dict(d.weights)
        for i in range(c.layers):
            q, k, v = d.weights[f"layers.{i}.qkv"].split([32, kv_heads * 8, kv_heads * 8])
            k, v = (
                w.view(kv_heads, 8, -1).repeat_interleave(4 // kv_heads, 0).reshape(32, -1) for w in (k, v)
            )
            weights[f"layers.{i}.qkv"] = torch.cat((q, k, v))
        mha = Decoder(c, full_attention(2, 4, 4, 8)).load_weights(weights)
        text = torch.tensor(TOKENS)
        assert worst(mha.read(text).logits, d.read(text).logits) < 1e-10


def test_last_gives_each_rows_own_last_logits() -> None:
    d = small.decoder(small.config())
    chunk, counts = torch.tensor([TOKENS[:4], TOKENS[4:8]]), [4, 2]
    all_logits = d.forward(chunk, d.new_state(2, 8), counts)
    last = d.forward(chunk, d.new_state(2, 8), counts, last=True)
    assert worst(last[0, 0], all_logits[0, 3]) < 1e-12 and worst(last[1, 0], all_logits[1, 1]) < 1e-12


def test_reading_can_give_the_last_logits_alone() -> None:
    d = small.decoder(small.config())
    everything, last = d.read(torch.tensor(TOKENS)), d.read(torch.tensor(TOKENS), last=True)
    assert last.logits.shape == (1, 50) and worst(last.logits[0], everything.logits[-1]) < 1e-12
    assert worst(last.states, everything.states) == 0


def test_what_sees_forbids_is_not_seen() -> None:
    d = small.decoder(small.config())
    a, b = torch.tensor(TOKENS), torch.tensor([*TOKENS[:2], 40, *TOKENS[3:]])

    def hide(layer, query, key):
        return (key <= query) & ((key != 2) | (query == 2))

    assert worst(d.read(a, hide).logits[-1], d.read(b, hide).logits[-1]) == 0
    assert worst(d.read(a).logits[-1], d.read(b).logits[-1]) > 1e-3


def test_a_query_that_may_see_nothing_gets_zeros_not_nan() -> None:
    d = small.decoder(small.config())
    logits = d.read(torch.tensor(TOKENS), lambda layer, query, key: (key <= query) & (query != 0)).logits
    assert torch.isfinite(logits).all()


def test_states_begin_with_the_embedding_and_have_one_entry_a_layer() -> None:
    d = small.decoder(small.config(layers=3))
    states = d.read(torch.tensor(TOKENS)).states
    assert states.shape == (4, len(TOKENS), 24)
    assert worst(states[0], d.weights["embed"][TOKENS]) == 0


def test_a_full_memory_is_refused_before_anything_is_written() -> None:
    d = small.decoder(small.config())
    state = d.new_state(1, 4)
    d.forward(torch.tensor([[1, 2, 3]]), state)
    with pytest.raises(CacheFull, match="room for 4"):
        d.forward(torch.tensor([[4, 5]]), state)
    assert state.lengths == [3]
    assert d.forward(torch.tensor([[4]]), state).isfinite().all()


def test_positions_beyond_what_the_model_reads_are_refused() -> None:
    d = small.decoder(small.config(longest=4))
    with pytest.raises(PositionOutOfRange, match="up to 3"):
        d.read(torch.tensor(TOKENS))


def test_weights_that_do_not_belong_are_named() -> None:
    d = small.decoder(small.config())
    good = dict(d.weights)
    with pytest.raises(WrongWeights, match="'final_norm'.*missing"):
        Decoder(d.config, d.plan).load_weights({k: w for k, w in good.items() if k != "final_norm"})
    with pytest.raises(WrongWeights, match="'layers.1.down' has shape"):
        Decoder(d.config, d.plan).load_weights(good | {"layers.1.down": torch.zeros(3)})
    with pytest.raises(WrongWeights, match="'more'"):
        Decoder(d.config, d.plan).load_weights(good | {"more": torch.zeros(3)})
    with pytest.raises(PlanMismatch):
        Decoder(d.config, full_attention(2, 4, 4, 8))


def test_projecting_states_gives_the_queries_keys_and_values_that_attention_used() -> None:
    c = small.config(query_heads=4, kv_heads=2)
    d = small.decoder(c)
    tokens = torch.tensor([5, 7, 11, 2, 30])
    states = d.read(tokens).states
    state = d.new_state(capacity=8)
    d.forward(tokens[None], state)
    for layer in range(c.layers):
        q, k, v = d.project(layer, states[layer])
        assert (tuple(q.shape), tuple(k.shape)) == ((4, 5, 8), (2, 5, 8))
        held = state.layers[layer][0].export(0, range(5))
        assert torch.allclose(held["k"], k, atol=1e-12) and torch.allclose(held["v"], v, atol=1e-12)
        late = d.project(layer, states[layer][3:], first=3)
        assert all(torch.allclose(a[:, 3:], b, atol=1e-12) for a, b in zip((q, k, v), late, strict=True))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_sixteen_bits_hold_states_of_thousands(dtype: torch.dtype) -> None:
    """Squares of such states do not fit a float16; a norm must not take them there."""
    d = small.decoder(small.config(), dtype=dtype)
    x = (torch.randn(1, 3, 24, generator=torch.Generator().manual_seed(0)) * 2e4).clamp(-6e4, 6e4).to(dtype)
    weight = torch.rand(24).to(dtype)
    got = d._norm(x, weight).double()
    rows = x.double()
    exact = rows / rows.square().mean(-1, keepdim=True).sqrt() * weight.double()
    assert got.dtype == torch.float64 and d._norm(x, weight).dtype == dtype
    assert float((got - exact).norm() / exact.norm()) < 0.01
