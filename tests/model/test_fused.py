"""A layer in two compiled calls is the layer in two dozen operations."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from memlessons.model import decoder as module
from memlessons.model.fused import MOST_TOKENS
from memlessons.plan import F32, INT8
from tests.model import small


def pair(int8: bool, **shape: int) -> tuple[module.Decoder, module.Decoder]:
    """The same decoder in float32, with and without its kernels."""
    c = small.config(**shape)
    made = [
        small.decoder(c, small.plan(c).with_format(F32), dtype=torch.float32, int8=int8) for _ in range(2)
    ]
    made[1].kernels = False
    return made[0], made[1]


@pytest.mark.parametrize("int8", [False, True])
@given(st.data())
@settings(max_examples=25, deadline=None)
def test_a_few_tokens_give_the_same_logits_and_memory(int8: bool, data: st.DataObject) -> None:
    kv_heads = data.draw(st.sampled_from([1, 2, 3]))
    with_kernels, plain = pair(
        int8, query_heads=kv_heads * data.draw(st.integers(1, 3)), kv_heads=kv_heads,
        head_width=data.draw(st.sampled_from([2, 8, 10])), layers=data.draw(st.integers(1, 2)),
    )  # fmt: skip
    rows = data.draw(st.integers(1, 3))
    states = [d.new_state(rows, 24) for d in (with_kernels, plain)]
    for _ in range(data.draw(st.integers(1, 3))):
        length = data.draw(st.integers(1, 4))
        counts = [data.draw(st.integers(0, length)) for _ in range(rows)]
        chunk = torch.randint(0, 50, (rows, length), generator=torch.Generator().manual_seed(length))
        a, b = (d.forward(chunk, s, counts) for d, s in zip((with_kernels, plain), states, strict=True))
        for row, count in enumerate(counts):
            assert (a[row, :count] - b[row, :count]).norm() <= 1e-4 * b[row, :count].norm()
    for mine, theirs in zip(states[0].memories(), states[1].memories(), strict=True):
        for row, length in enumerate(states[0].lengths):
            x, y = (m.export(row, range(length))["v"] for m in (mine, theirs))
            assert torch.allclose(x, y, rtol=1e-4, atol=1e-4)


def test_many_tokens_and_other_types_go_the_plain_way(monkeypatch: pytest.MonkeyPatch) -> None:
    d, _ = pair(False)
    calls: list[int] = []
    project = module.FusedLayer.project
    monkeypatch.setattr(
        module.FusedLayer, "project", lambda self, x, *rest: calls.append(len(x)) or project(self, x, *rest)
    )
    for rows, length in ((1, 1), (2, MOST_TOKENS // 2), (1, MOST_TOKENS + 1)):
        d.forward(torch.ones(rows, length, dtype=torch.int64), d.new_state(rows, 12))
    assert calls == [1, 1, MOST_TOKENS, MOST_TOKENS]  # two layers each; nine tokens are too many
    double = small.decoder(small.config())
    double.forward(torch.tensor([[1]]), double.new_state(1, 4))
    assert all(layer.fused is None for layer in double.layers) and len(calls) == 4


def test_int8_memory_and_weights_together_are_near_the_numbers_they_stand_for() -> None:
    c = small.config()
    d = small.decoder(c, small.plan(c).with_format(INT8), dtype=torch.float32, int8=True)
    state = d.new_state(1, 12)
    tokens = [3, 14, 15, 9, 2, 6]
    steps = torch.stack([d.forward(torch.tensor([[t]]), state)[0, 0] for t in tokens])
    truth = small.decoder(c).read(torch.tensor(tokens)).logits
    assert 0 < float((steps - truth).norm() / truth.norm()) < 0.05
