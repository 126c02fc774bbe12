"""The sizer's pure half: one answer for widget and command line, its words, its picture; no state fails."""

import importlib
import json
import math
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memlessons.cost import UnknownAccelerator, accelerators
from memlessons.errors import MemlessonsError
from memlessons.plan import FORMATS, InvalidPlan, presets
from memlessons.plan.engines import BadEngineArgument, UnknownEngine
from memlessons.plan.huggingface import BadConfig, UnknownArchitecture
from memlessons.plan.presets import UnknownPreset
from memlessons.show.sizer_export import flags_text, python_text
from memlessons.show.sizer_picture import picture, sizer_figure
from memlessons.show.sizer_rows import EDITS_NOTE, caption, explain, notes, rows
from memlessons.show.sizer_state import ImpossibleState, SizerState
from memlessons.show.sizer_table import table_html, table_text
from memlessons.show.sizer_words import ratio, share_text, span, speed, times_text
from memlessons.sizing.plain import plain
from memlessons.sizing.whatif import Edit
from memlessons.units import bytes_text, seconds_text

LLAMA_WEIGHTS = 16_060_522_496
# The input embedding is not the head too, so a step looks up a row of it and reads the rest.
LLAMA_READ = LLAMA_WEIGHTS - 128_256 * 4096 * 2
OWN = json.dumps(
    {"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 512, "num_attention_heads": 8,
     "num_key_value_heads": 4, "intermediate_size": 1024, "vocab_size": 1000, "max_position_embeddings": 2048}
)  # fmt: skip
EDITS = (Edit("one_kv_head"), Edit("window", 1024, every=6), Edit("share", 2), Edit("latent", 512))

STATES = st.builds(
    SizerState,
    preset=st.sampled_from(presets.names()),
    context=st.integers(1, 1_000_000),
    batch=st.integers(1, 1024) | st.integers(1, 10**9),
    key_format=st.sampled_from(list(FORMATS)),
    value_format=st.sampled_from(list(FORMATS)),
    card=st.sampled_from([a.name for a in accelerators()]),
    tp=st.integers(1, 9),
    config=st.none() | st.just(OWN),
    edits=st.lists(st.sampled_from(EDITS), max_size=3).map(tuple),
    reserve_gib=st.floats(0, 10),
)


@pytest.mark.parametrize(
    ("state", "arguments"),
    [
        (SizerState(batch=30), ["llama-3.1-8b", "--batch", "30"]),
        (
            SizerState("gemma-3-27b", 32_768, 8, "fp8", "fp8", "H200 SXM", 2, "vllm", reserve_gib=4),
            ["gemma-3-27b", "--context", "32k", "--batch", "8", "--kv", "fp8", "--gpu", "H200 SXM",
             "--tp", "2", "--engine", "vllm", "--reserve", "4GiB"],
        ),
        (
            SizerState("deepseek-r1", 10_000, 3, "q8_0", "f16", "B300 SXM", 4, "llama.cpp"),
            ["deepseek-r1", "--context", "10000", "--batch", "3", "--kv", "q8_0/f16", "--gpu", "B300 SXM",
             "--tp", "4", "--engine", "llama.cpp"],
        ),
    ],
)  # fmt: skip
def test_the_numbers_are_those_of_the_command_line(state, arguments):
    if "--gpu" not in arguments:
        arguments = [*arguments, "--gpu", "RTX 4090"]
    command = [sys.executable, "-m", "memlessons", "size", *arguments, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert plain(state.answer()) == json.loads(done.stdout)


def test_llama_keeps_128_kib_a_token_and_thirty_sequences_outweigh_it():
    found = SizerState("llama-3.1-8b", context=4096).answer()
    assert found.slope == found.average == 2 * 32 * 8 * 128 * 2 == 131_072
    assert found.kv_bytes == found.kv_per_sequence == 512 * 1024**2
    assert found.weight_bytes == LLAMA_WEIGHTS and found.sequences_to_outweigh == 30
    assert found.crossing == math.ceil(LLAMA_WEIGHTS / 131_072)
    said = dict(rows(SizerState("llama-3.1-8b", context=4096)))
    assert said["one sequence"] == "512 MiB at 4,096 tokens"
    assert said["or, at this length"] == "from 30 sequences on"
    assert said["cache outweighs weights stored"] == f"from {found.crossing:,} tokens on"
    # A step reads one row of the input embedding and the rest of the weights.
    assert (
        said["cache outweighs weights read"] == f"from {math.ceil((LLAMA_READ + 8192) / 131_072):,} tokens on"
    )


def test_a_time_is_a_band_from_60_to_90_per_cent_of_the_roof():
    state = SizerState("llama-3.1-8b", context=4096, card="RTX 4090")
    least = (LLAMA_READ + 512 * 1024**2) / 1.008e12
    low, high = (seconds_text(least / part).removesuffix(" ms") for part in (0.9, 0.6))
    said = dict(rows(state))
    assert said["one decode step"] == (
        f"at least {seconds_text(least)}; {low} to {high} ms expected (60-90 % of the roof, assumed), "
        "limited by bandwidth"
    )
    assert f"takes at least {seconds_text(least)}, {low} to {high} ms expected" in explain(state)
    assert said["tokens a second"] == f"{0.6 / least:.1f} to {0.9 / least:.1f}"
    many = dict(rows(state.with_(batch=8)))["tokens a second"]
    assert "in all" in many and many.endswith("each")


def test_memory_is_the_cards_and_what_sequences_keep_is_a_cache():
    state = SizerState("gemma-3-27b", 20_000, 4, card="H200 SXM", engine="vllm", edits=EDITS[:1])
    said = [*rows(state), *(("", note) for note in notes(state)), ("", explain(state))]
    words = " ".join(f"{name} {value}" for name, value in said)
    assert "limited by memory" not in words and "limited by bandwidth" in words
    assert not re.search(r"[Mm]emory outweighs|of it memory|, memory \d|of memory", words)
    drawn = picture(state)
    assert "cache" in {word["text"] for word in drawn.layout["annotations"]}
    assert [trace["name"] for trace in drawn.data].count("cache") == 2


def test_the_chosen_engine_says_what_it_reserves_and_which_defaults_are_assumed():
    said = notes(SizerState("gemma-3-27b", 20_000, 4, card="H200 SXM", engine="vllm"))
    assert any("what vllm reserves" in note and "8,192 tokens of one prefill chunk" in note for note in said)
    assert any("assumed: max_num_batched_tokens=8,192, block_size=16" in note for note in said)
    assert not any("reserves:" in note for note in notes(SizerState("gemma-3-27b", 20_000, 4)))


def test_full_windows_add_nothing_and_the_words_say_so():
    said = dict(rows(SizerState("mistral-7b-v0.1", context=8192)))
    assert said["its next token"].startswith("nothing, all windows are full")
    assert said["cache outweighs weights stored"] == "never: it stops growing first"


def test_a_context_beyond_the_longest_is_said_and_not_forgotten():
    state = SizerState("llama-2-7b", context=50_000)
    assert state.answer().question.context == state.context_read == 4096
    assert any("asked for 50,000" in note and "4,096" in note for note in notes(state))
    assert "You asked for 50,000 tokens" in explain(state) and "50,000" in table_text(state)
    assert state.with_(preset="llama-3.1-8b").context_read == 50_000
    assert not any("asked for" in note for note in notes(SizerState("llama-2-7b", context=4096)))


def test_several_cards_each_hold_a_part_and_the_words_say_which():
    said = dict(rows(SizerState("deepseek-r1", card="H200 SXM", tp=8)))
    assert "some of it is repeated" in said["one card's part"]
    assert said["8 x H200 SXM"].startswith("140 GiB each: fits, ")
    assert "one card's part" not in dict(rows(SizerState()))


def test_a_configuration_of_ones_own_takes_the_presets_place():
    state = SizerState(config=OWN, context=9999)
    assert state.model.name == "llama" and state.context_read == 2048
    assert state.answer().kv_per_sequence == 2048 * 4 * 2 * 4 * 64 * 2
    assert "'llama-3.1-8b'" not in python_text(state) and "resolve('config.json')" in python_text(state)
    # Its weights by rule: embeddings in and out, attention, three matrices and two norms a layer, one norm.
    layer = 512 * 512 * 2 + 2 * 512 * 256 + 3 * 512 * 1024 + 2 * 512
    assert state.answer().weight_bytes == 2 * (2 * 1000 * 512 + 4 * layer + 512)
    named = SizerState(config=json.dumps(json.loads(OWN) | {"_name_or_path": "someone/tiny-model"}))
    assert named.model.name == "tiny-model"


def test_a_plan_may_be_pasted_too_and_has_no_weights():
    state = SizerState(config=presets.get("smollm2-135m").plan.to_json(), context=4096)
    assert state.answer().kv_per_sequence == SizerState("smollm2-135m").answer().kv_per_sequence
    assert dict(rows(state))["weights"] == "not computed" and "--weights" not in table_html(state)
    fig = sizer_figure(state)
    assert "weights" not in {word.text for word in fig.layout.annotations}
    assert "None" not in explain(state)


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("", BadConfig, "curly bracket"),
        ("/etc/passwd", BadConfig, "curly bracket"),
        ("[1]", BadConfig, "curly bracket"),
        ("{", BadConfig, "no readable JSON"),
        ('{"a": ' * 5000, BadConfig, "no readable JSON"),
        ("{}", UnknownArchitecture, "layers"),
        (
            '{"model_type": "bert", "num_hidden_layers": 2, "num_attention_heads": 2}',
            UnknownArchitecture,
            "bert",
        ),
        ('{"form": "memlessons.plan/1"}', InvalidPlan, "layers"),
    ],
)
def test_a_bad_configuration_is_refused_by_name(text, error, says):
    with pytest.raises(error, match=says) as caught:
        SizerState(config=text)
    assert isinstance(caught.value, MemlessonsError) and len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"preset": "gpt-9"}, UnknownPreset, "gpt-9"),
        ({"card": "RTX 9999"}, UnknownAccelerator, "RTX 9999"),
        ({"key_format": "fp3"}, InvalidPlan, "fp3.*q8_0"),
        ({"value_format": ""}, InvalidPlan, "q8_0"),
        ({"context": 0}, ImpossibleState, "context=0.*tokens"),
        ({"context": 10.5}, ImpossibleState, "context=10.5"),
        ({"batch": -1}, ImpossibleState, "batch=-1.*sequences"),
        ({"batch": True}, ImpossibleState, "batch=True"),
        ({"tp": 0}, ImpossibleState, "tp=0.*cards"),
        ({"reserve_gib": -1}, ImpossibleState, "reserve_gib=-1"),
        ({"reserve_gib": math.nan}, ImpossibleState, "reserve_gib=nan"),
        ({"engine": "ollama"}, UnknownEngine, "ollama.*vllm"),
        ({"engine": "vllm", "key_format": "q4_0"}, BadEngineArgument, "vllm does not store .* q4_0"),
        ({"engine": "vllm", "edits": (Edit("format", format="int4"),)}, BadEngineArgument, "int4"),
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


def test_names_have_one_spelling_and_equal_questions_are_equal():
    assert SizerState("LLAMA-3.1-8B", card="rtx-4090", edits=[]) == SizerState()
    assert hash(SizerState(edits=[EDITS[0]])) == hash(SizerState(edits=(EDITS[0],)))
    assert SizerState().with_(context=5).context == 5


def test_edits_change_every_number_and_are_said_wherever_numbers_are():
    state = SizerState(context=32_768, edits=EDITS[:3])
    assert state.answer().kv_per_sequence == state.waterfall()[-1].bytes
    assert state.published().plan == SizerState(context=32_768).question().plan
    factor = state.waterfall()[-1].running
    assert factor > 20
    for text in (table_html(state), table_text(state), explain(state)):
        assert times_text(factor) in text
    assert EDITS_NOTE in notes(state) and EDITS_NOTE not in notes(SizerState())
    assert caption(state).startswith("llama-3.1-8b, changed: 1 sequence of 32,768 tokens")
    refused = SizerState("deepseek-r1", edits=(Edit("one_kv_head"),))
    assert "no store of role self" in table_html(refused) and caption(refused).startswith("deepseek-r1: ")


@settings(max_examples=60, deadline=None)
@given(STATES)
def test_no_state_makes_it_fail(state):
    found = state.answer()
    assert found.question.plan.bytes(
        state.context_read, encoder_tokens=found.question.encoder
    ) * state.batch == (found.kv_bytes)
    for text in (table_html(state), table_text(state), explain(state), caption(state), python_text(state)):
        # Some models are called nano.
        assert not re.search(r"\bnan\b", text.lower()) and "object at" not in text
        assert "None" not in text
    assert len({name for name, _ in rows(state)}) == len(rows(state))
    assert flags_text(state)
    usual = picture(SizerState())
    drawn = picture(state)
    assert [(t["type"], t.get("mode")) for t in drawn.data] == [
        (t["type"], t.get("mode")) for t in usual.data
    ]
    assert all(len(t["x"]) == len(t["y"]) == len(t["customdata"]) for t in drawn.data)
    assert drawn.layout.keys() == usual.layout.keys()


def test_the_picture_is_to_scale_and_marks_this_length_and_the_crossing():
    state = SizerState(
        "llama-3.1-8b", context=8192, batch=2, engine="llama.cpp", reserve_gib=1, edits=EDITS[:1]
    )
    state = state.with_(context=8191)
    fig, found = sizer_figure(state, id="fig-99"), state.answer()
    held, card, flat, solid, faint, crossing, now, steps = fig.data
    ends = [base + size for base, size in zip(held.base, held.x, strict=True)]
    assert held.base[0] == 0 and list(held.base[1:]) == ends[:-1] and ends[-1] == found.needed_per_device
    assert list(fig.layout.yaxis.ticktext)[-3:] == ["llama.cpp rounds up", "kept free", "RTX 4090"]
    assert card.x[0] == found.card_bytes and held.width == card.width
    # Nothing by colour alone: kinds of piece differ in their pattern, and each stands in a named row.
    patterns = dict(zip(fig.layout.yaxis.ticktext, held.marker.pattern.shape, strict=False))
    assert len({patterns["weights"], patterns["llama.cpp rounds up"], patterns["kept free"]}) == 3
    assert set(flat.y) == {LLAMA_READ} and flat.line.dash != solid.line.dash
    assert solid.y[solid.x.index(8192)] == 2 * 8192 * 32 * 256 * 2
    assert solid.x[-1] == faint.x[0] == 131_072 and faint.opacity < 1
    assert list(crossing.x) == [math.ceil(LLAMA_READ / (2 * 32 * 256 * 2))]
    assert list(now.x) == [8191, 8191] and list(now.y) == [LLAMA_READ, found.kv_bytes]
    assert list(steps.x) == [8191 * 131_072, 8191 * 16_384]
    texts = [word.text for word in fig.layout.annotations]
    assert f"equal at {crossing.x[0]:,} tokens" in texts and f"{bytes_text(steps.x[1])}, × 8.0" in texts
    assert {"weights", "cache"} <= set(texts)
    assert fig.layout.xaxis2.type == fig.layout.yaxis2.type == "log"
    assert fig.id == "fig-99" and len(fig.to_json()) < 60_000 and fig.alt.startswith("Three panels.")
    assert fig.layout.paper_bgcolor is None


def test_without_edits_the_waterfall_invites():
    texts = [word.text for word in sizer_figure(SizerState()).layout.annotations]
    assert any("add a change" in text for text in texts)
    assert not any(
        "add a change" in word.text for word in sizer_figure(SizerState(edits=EDITS)).layout.annotations
    )


def test_panels_do_not_overlap_however_many_rows_they_have():
    for state in (SizerState(), SizerState("gemma-3-27b", engine="vllm", reserve_gib=1, edits=EDITS * 3)):
        layout = sizer_figure(state).layout
        first, second, third = (axis.domain for axis in (layout.yaxis, layout.yaxis2, layout.yaxis3))
        assert 0 <= third[0] < third[1] < second[0] < second[1] < first[0] < first[1] <= 1
        assert (second[1] - second[0]) * (layout.height - layout.margin.t - layout.margin.b) == pytest.approx(
            170, abs=1
        )


@pytest.mark.parametrize(
    "state",
    [
        SizerState(batch=3, key_format="q8_0", value_format="f16"),
        SizerState("gemma-3-27b", 32_768, 8, card="H200 SXM", tp=2, engine="vllm", reserve_gib=1.5),
        SizerState(context=32_768, edits=(*EDITS, Edit("fewer_kv_heads", 2), Edit("format", format="int8"))),
        SizerState(config=OWN, context=100),
    ],
)
def test_copied_python_gives_the_same_answer(state, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if state.config is not None:
        Path("config.json").write_text(state.config)
    space = {}
    exec(python_text(state), space)
    found, ours = space["found"], state.answer()
    assert (found.kv_bytes, found.reserved, found.fits, found.sequences_fit, found.crossing) == (
        ours.kv_bytes, ours.reserved, ours.fits, ours.sequences_fit, ours.crossing
    )  # fmt: skip
    assert str(found.kv_bytes) in capsys.readouterr().out


def test_copied_flags_are_the_engines_and_say_what_they_cannot():
    state = SizerState(context=8192, batch=4, tp=2, key_format="fp8", value_format="fp8")
    assert flags_text(state).startswith("vllm serve PATH/TO/llama-3.1-8b --max-model-len 8192 --max-num")
    llama_cpp = state.with_(engine="llama.cpp", key_format="q8_0", value_format="q8_0")
    assert "-ctk q8_0" in flags_text(llama_cpp)
    assert flags_text(state.with_(key_format="int4", value_format="int4")).startswith("# vllm does not store")
    shaped = flags_text(SizerState(edits=(Edit("share", 2), Edit("format", format="fp8"))))
    assert shaped.splitlines()[0].endswith("2 neighbours share") and "--kv-cache-dtype fp8" in shaped


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (1e-5, "under 0.1 %"), (0.033, "3.3 %"), (0.5, "50 %"), (0.968, "96.8 %"),
     (0.99999, "over 99.9 %"), (1, "100 %")],
)  # fmt: skip
def test_small_shares_are_not_rounded_away(share, text):
    assert share_text(share) == text


def test_bands_name_a_unit_once_and_factors_have_three_digits():
    assert span(0.0123, 0.0185, seconds_text) == "12.3 to 18.5 ms"
    assert span(0.9, 1.35, seconds_text) == "900 ms to 1.35 s"
    assert speed(1, 0.01, " tokens a second") == "60.0 to 90.0 tokens a second"
    assert speed(4, 0.01) == "240 to 360 in all, 60.0 to 90.0 each"
    assert [times_text(n) for n in (1, 12.04, 0.444, 2345.6, math.inf)] == [
        "× 1.0",
        "× 12.0",
        "× 0.444",
        "× 2,346",
        "× ∞",
    ]
    assert [ratio(n) for n in (0.25, 1.0003, 43.21)] == ["25 % of that", "1.00 times that", "43.2 times that"]


def test_the_table_is_escaped_sets_no_colour_and_names_its_heads():
    evil = SizerState(config=json.dumps(json.loads(OWN) | {"_name_or_path": "<b>x$y$"}))
    table = table_html(evil)
    assert "<b>" not in table and "color" not in table
    assert 'scope="col"' in table and 'scope="row"' in table
    assert "1 sequence of" in table and "1 sequence of" not in table_html(evil, captioned=False)
    assert "<b>x" not in sizer_figure(evil).layout.title.text


def test_a_name_of_the_package_is_the_thing_whatever_was_imported_before():
    from memlessons import show

    # A module of that name would take its place as soon as somebody imports it.
    for path in Path(show.__file__).parent.glob("*.py"):
        importlib.import_module(
            f"memlessons.show.{path.stem}" if path.stem != "__init__" else "memlessons.show"
        )
    assert all(callable(getattr(show, name)) for name in show.__all__)


def test_the_package_and_a_state_load_no_torch():
    program = (
        "import sys; from memlessons.show import SizerState; import memlessons.show\n"
        "SizerState(batch=3).answer(); print('torch' in sys.modules, 'numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False False"
