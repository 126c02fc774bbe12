"""The sizer's pure half: numbers against hand computation, words, figure; no state makes it fail."""

import importlib
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memlessons.cost import UnknownAccelerator, accelerators, decode_bound
from memlessons.errors import MemlessonsError
from memlessons.plan import FORMATS, InvalidPlan, presets
from memlessons.plan.presets import UnknownPreset
from memlessons.show.sizer_numbers import first_context, size
from memlessons.show.sizer_picture import sizer_figure
from memlessons.show.sizer_state import ImpossibleState, SizerState
from memlessons.show.sizer_view import caption, explain, notes, rows, share_text, table_html, table_text

LLAMA_WEIGHTS = 16_060_522_496

STATES = st.builds(
    SizerState,
    preset=st.sampled_from(presets.names()),
    context=st.integers(1, 1_000_000),
    batch=st.integers(1, 1024) | st.integers(1, 10**9),
    key_format=st.sampled_from(list(FORMATS)),
    value_format=st.sampled_from(list(FORMATS)),
    card=st.sampled_from([a.name for a in accelerators()]),
)


def crossing_by_counting(weight_bytes, layers, batch, longest):
    """The first context at which the caches reach the weights, token by token."""
    for tokens in range(1, longest + 1):
        held = batch * sum(each * min(tokens, window or tokens) for each, window in layers)
        if held >= weight_bytes:
            return tokens
    return None


def test_llama_keeps_128_kib_a_token_and_thirty_readers_outweigh_it():
    s = size(SizerState("llama-3.1-8b", context=4096))
    assert s.kv_bytes_per_token == s.average_bytes_per_token == 2 * 32 * 8 * 128 * 2 == 131_072
    assert s.kv_bytes == s.kv_bytes_per_reader == 512 * 1024**2
    assert s.weight_bytes == LLAMA_WEIGHTS
    assert s.kv_bytes / s.weight_bytes == pytest.approx(0.0334, abs=5e-5)
    assert s.readers_to_outweigh == 30
    thirty, less = (size(SizerState("llama-3.1-8b", context=4096, batch=n)) for n in (30, 29))
    assert thirty.kv_bytes >= LLAMA_WEIGHTS > less.kv_bytes


def test_the_crossing_is_the_first_context_that_reaches_the_weights():
    s = size(SizerState("llama-3.1-8b"))
    assert s.crossing_context == math.ceil(LLAMA_WEIGHTS / 131_072) == 122_533
    assert s.crossing_beyond is None
    batch = size(SizerState("llama-3.1-8b", batch=64))
    assert batch.crossing_context == crossing_by_counting(LLAMA_WEIGHTS, [(4096, None)] * 32, 64, 131_072)
    # Gemma's local layers stop at their window, every sixth goes on.
    gemma = [(2 * 256 * 2, None if (i + 1) % 6 == 0 else 512) for i in range(18)]
    weights = 268_098_176 * 2
    forty = size(SizerState("gemma-3-270m", batch=40))
    assert forty.crossing_context == crossing_by_counting(weights, gemma, 40, 32_768)


@pytest.mark.parametrize(
    ("preset", "within", "beyond"),
    [
        ("smollm2-135m", None, 11_677),
        ("llama-2-7b", None, 25_706),
        ("llama-3.1-8b", 122_533, None),
        ("deepseek-r1", None, 9_548_988),
        ("mistral-7b-v0.1", None, None),
    ],
)
def test_a_crossing_may_lie_beyond_the_longest_context_or_nowhere(preset, within, beyond):
    s = size(SizerState(preset))
    assert (s.crossing_context, s.crossing_beyond) == (within, beyond)


def test_a_step_of_a_mixture_reads_a_part_of_its_weights():
    one = size(SizerState("deepseek-r1", card="H200 SXM"))
    assert one.step_weight_bytes == 37_000_000_000
    assert one.step_crossing == math.ceil(37_000_000_000 / (61 * 576 * 2))
    many = size(SizerState("deepseek-r1", batch=64, card="H200 SXM"))
    assert many.step_weight_bytes == many.weight_bytes
    assert many.step_crossing == (many.crossing_context or many.crossing_beyond)


def test_a_step_takes_as_long_as_its_bytes_take():
    s = size(SizerState("llama-3.1-8b", context=4096, card="RTX 4090"))
    assert s.step_seconds == pytest.approx((LLAMA_WEIGHTS + 512 * 1024**2) / 1.008e12)
    assert s.step_limit == "memory"
    assert s.kv_share == pytest.approx(1 - LLAMA_WEIGHTS / (LLAMA_WEIGHTS + 512 * 1024**2))
    assert s.weight_share + s.kv_share == pytest.approx(1)
    assert s.tokens_per_second == s.tokens_per_second_each == pytest.approx(60.733, abs=0.01)
    many = size(SizerState("llama-3.1-8b", context=1, batch=1024, card="RTX 4090"))
    assert many.step_limit == "compute"
    assert many.tokens_per_second == pytest.approx(1024 * many.tokens_per_second_each)


@settings(max_examples=25, deadline=None)
@given(STATES, st.integers(1, 40))
def test_the_bound_is_that_of_the_cost_model(state, batch):
    state = state.with_(batch=batch)
    card = state.accelerator
    if card.matmul_flops is None:
        card = replace(card, matmul_flops=1e30)
    whole = decode_bound(state.plan(), state.model.weights, [state.context_read] * state.batch, card)
    s = size(state)
    assert (s.step_seconds, s.step_limit) == (pytest.approx(whole.seconds), whole.limit)
    assert s.step_weight_bytes + s.step_kv_bytes == whole.bytes_moved


def test_batch_thins_the_weights_and_never_the_cache():
    alone, many = (size(SizerState("llama-3.1-8b", context=8192, batch=n)) for n in (1, 16))
    assert many.step_weight_bytes == alone.step_weight_bytes
    assert many.step_kv_bytes == 16 * alone.step_kv_bytes


def test_what_fits_is_counted_in_the_cards_usable_bytes():
    usable = 24_000_000_000
    each = 4096 * 131_072
    fit = (usable - LLAMA_WEIGHTS) // each
    full = size(SizerState("llama-3.1-8b", batch=fit, card="RTX 4090"))
    assert (full.card_bytes, full.sequences_that_fit, full.fits) == (usable, fit, True)
    over = size(SizerState("llama-3.1-8b", batch=fit + 1, card="RTX 4090"))
    assert not over.fits
    assert any("with room for all of it" in note for note in over.notes)
    large = size(SizerState("llama-3.1-70b", card="RTX 4090"))
    assert (large.sequences_that_fit, large.fits) == (0, False)


def test_formats_of_keys_and_values_count_separately():
    plain = size(SizerState("llama-3.1-8b"))
    mixed = size(SizerState("llama-3.1-8b", key_format="q8_0", value_format="q4_0"))
    # 128 numbers a head: 4 blocks of 34 bytes for K, 4 of 18 for V.
    assert mixed.kv_bytes_per_token == 32 * 8 * (4 * 34 + 4 * 18)
    assert mixed.kv_bytes < plain.kv_bytes


def test_full_windows_add_nothing_and_the_words_say_so():
    s = size(SizerState("mistral-7b-v0.1", context=8192))
    assert s.kv_bytes_per_token == 0
    assert s.average_bytes_per_token == 131_072 / 2
    said = dict(rows(SizerState("mistral-7b-v0.1", context=8192)))
    assert said["one more token of one reader"].startswith("nothing, all windows are full")
    assert said["K and V outweigh them"] == "never: they stop growing first"


def test_a_context_beyond_the_longest_is_said_and_not_forgotten():
    state = SizerState("llama-2-7b", context=50_000)
    assert size(state).context == state.context_read == 4096
    assert any("asked for 50,000" in note and "4,096" in note for note in size(state).notes)
    assert "You asked for 50,000 tokens" in explain(state)
    assert state.with_(preset="llama-3.1-8b").context_read == 50_000
    assert not size(SizerState("llama-2-7b", context=4096)).notes


def test_doubtful_figures_are_said():
    laptop = size(SizerState(card="RTX 4060 Laptop")).notes
    assert any("arithmetic of this card is not known" in note for note in laptop)
    assert any("from memory" in note for note in laptop)
    latent = size(SizerState("deepseek-r1", key_format="fp8", card="B300 SXM")).notes
    assert any("one latent" in note for note in latent) and any("mixture" in note for note in latent)


def test_engines_keep_some_is_always_said():
    assert any("engines keep" in note for note in notes(SizerState()))


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"preset": "gpt-9"}, UnknownPreset, "gpt-9.*llama-3.1-8b"),
        ({"card": "RTX 9999"}, UnknownAccelerator, "RTX 9999"),
        ({"key_format": "fp3"}, InvalidPlan, "fp3.*q8_0"),
        ({"value_format": ""}, InvalidPlan, "q8_0"),
        ({"context": 0}, ImpossibleState, "context=0.*tokens"),
        ({"context": 10.5}, ImpossibleState, "context=10.5"),
        ({"batch": -1}, ImpossibleState, "batch=-1.*readers"),
        ({"batch": True}, ImpossibleState, "batch=True"),
    ],
)
def test_impossible_states_are_refused_by_name(arguments, error, says):
    for make in (lambda: SizerState(**arguments), lambda: SizerState().with_(**arguments)):
        with pytest.raises(error, match=says) as caught:
            make()
        assert isinstance(caught.value, MemlessonsError)


def test_a_field_that_does_not_exist_is_refused():
    with pytest.raises(ImpossibleState, match=r"readers.*batch"):
        SizerState().with_(readers=3)


def test_names_have_one_spelling():
    assert SizerState("LLAMA-3.1-8B", card="rtx-4090") == SizerState()
    assert SizerState().with_(context=5).context == 5


@settings(max_examples=60, deadline=None)
@given(STATES)
def test_no_state_makes_it_fail_and_the_numbers_hang_together(state):
    s = size(state)
    assert s.needed_bytes == s.weight_bytes + state.batch * s.kv_bytes_per_reader
    assert s.fits == (s.needed_bytes <= s.card_bytes) and s.fits <= (s.sequences_that_fit >= state.batch)
    assert (s.readers_to_outweigh - 1) * s.kv_bytes_per_reader < s.weight_bytes
    assert s.readers_to_outweigh * s.kv_bytes_per_reader >= s.weight_bytes
    assert s.crossing_context is None or s.crossing_beyond is None
    plan, crossing = state.plan(), s.crossing_context or s.crossing_beyond
    if crossing is not None:
        assert state.batch * plan.bytes(crossing) >= s.weight_bytes
        assert crossing == 1 or state.batch * plan.bytes(crossing - 1) < s.weight_bytes
        assert (crossing <= s.longest_context) == (s.crossing_context is not None)
    for text in (table_html(state), table_text(state), explain(state), caption(state)):
        assert "nan" not in text.lower() and "None" not in text and "object at" not in text
    assert len({name for name, _ in rows(state)}) == len(rows(state))


@settings(max_examples=15, deadline=None)
@given(STATES)
def test_every_state_has_the_same_traces_so_that_a_live_figure_can_be_changed(state):
    fig, usual = sizer_figure(state), sizer_figure(SizerState())
    assert [(t.type, t.mode if t.type == "scatter" else "") for t in fig.data] == [
        (t.type, t.mode if t.type == "scatter" else "") for t in usual.data
    ]
    assert fig.layout.paper_bgcolor is None and fig.alt.startswith("Two panels.")


def test_the_figure_is_to_scale_and_marks_this_context_and_the_crossing():
    state = SizerState("llama-3.1-8b", context=8192, batch=2)
    fig, s = sizer_figure(state, id="fig-99"), size(state)
    weights, memory, card = fig.data[:3]
    assert (weights.base[0], weights.x[0]) == (0, s.weight_bytes)
    assert (memory.base[0], memory.x[0]) == (s.weight_bytes, s.kv_bytes)
    assert card.x[0] == s.card_bytes
    assert weights.width == memory.width == card.width
    assert weights.marker.pattern.shape != memory.marker.pattern.shape
    flat, solid, faint, crossing, now = fig.data[3:]
    assert set(flat.y) == {s.step_weight_bytes} and flat.line.dash != solid.line.dash
    assert solid.y[solid.x.index(8192)] == 2 * 8192 * 131_072
    assert solid.x[-1] == faint.x[0] == 131_072 and faint.opacity < 1
    assert list(crossing.x) == [math.ceil(LLAMA_WEIGHTS / (2 * 131_072))]
    assert list(now.x) == [8192, 8192] and list(now.y) == [s.step_weight_bytes, s.step_kv_bytes]
    texts = [note.text for note in fig.layout.annotations]
    assert f"equal at {crossing.x[0]:,} tokens" in texts
    assert {"weights", "K and V"} <= set(texts)
    assert fig.layout.xaxis2.type == fig.layout.yaxis2.type == "log"
    assert fig.id == "fig-99" and len(fig.to_json()) < 60_000


def test_presets_have_no_chunked_store_whose_reads_would_fall():
    # `first_context` halves an interval, which needs bytes that never fall.
    assert all(
        store.block is None
        for n in presets.names()
        for layer in presets.get(n).plan.layers
        for store in layer.stores
    )


def test_first_context_is_found_where_it_is_and_not_where_it_is_not():
    assert [first_context(lambda n: n * 10, w) for w in (1, 10, 11, 1000)] == [1, 1, 2, 100]
    assert first_context(lambda n: min(n, 50), 51) is None


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (1e-5, "under 0.1 %"), (0.033, "3.3 %"), (0.5, "50 %"), (0.968, "96.8 %"),
     (0.99999, "over 99.9 %"), (1, "100 %")],
)  # fmt: skip
def test_small_shares_are_not_rounded_away(share, text):
    assert share_text(share) == text


def test_the_table_is_escaped_and_sets_no_colour():
    table = table_html(SizerState())
    assert "512 MiB at 4,096 tokens" in table and "color" not in table
    assert "<caption>" in table and "<caption>" not in table_html(SizerState(), captioned=False)
    text = table_text(SizerState())
    assert text.splitlines()[0] == "llama-3.1-8b, 1 reader of 4,096 tokens, bf16, RTX 4090"
    assert "from 30 readers on" in text


def test_it_is_explained_in_prose():
    said = explain(SizerState("llama-3.1-8b", context=4096, batch=2, card="RTX 4090"))
    assert said.startswith(
        "llama-3.1-8b with 2 readers at 4,096 tokens keeps 1.00 GiB of K and V beside 15.0 GiB"
    )
    for part in ("from 61,267 tokens on", "from 30 readers on", "limited by memory", "it fits"):
        assert part in said


def test_a_name_of_the_package_is_the_thing_whatever_was_imported_before():
    from memlessons import show

    # A module of that name would take its place as soon as somebody imports it.
    for path in Path(show.__file__).parent.glob("*.py"):
        importlib.import_module(
            f"memlessons.show.{path.stem}" if path.stem != "__init__" else "memlessons.show"
        )
    assert all(callable(getattr(show, name)) for name in show.__all__)
