"""What-if edits against sums by hand, on dense, windowed, latent, shared and hybrid models; none crashes."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memlessons.errors import MemlessonsError
from memlessons.plan import Layer, MemoryPlan, Store, presets
from memlessons.plan.formats import F32
from memlessons.sizing import Question, resolve
from memlessons.sizing.models import Model
from memlessons.sizing.whatif import CannotEdit, Edit, edited, possible, waterfall

ALL = [
    Edit("fewer_kv_heads", 2),
    Edit("one_kv_head"),
    Edit("latent", 512),
    Edit("format", format="int8"),
    Edit("window", 1024, every=6, sinks=4),
    Edit("window", 700),
    Edit("share", 2),
    Edit("share", 3),
]


def ask(name, context=32_768):
    return Question(resolve(name), context=context)


def of_plan(*layers):
    return Question(Model("mine", MemoryPlan(tuple(layers)), None, None, "a test"), context=1000)


def full(heads=4, width=8, **more):
    return Layer(8, (Store("self", heads, width, width, **more),))


def test_the_way_to_twenty_times_by_hand():
    llama = ask("llama-3.1-8b")
    steps = waterfall(llama, [Edit("one_kv_head"), Edit("window", 1024, every=6, sinks=4), Edit("share", 2)])
    # 32 layers, 2 x 128 numbers of 2 bytes a KV head; layers 6, 12 ... 30 stay global.
    row = 2 * 128 * 2
    published, one = 32 * 8 * row * 32_768, 32 * row * 32_768
    windowed = row * (5 * 32_768 + 27 * 1028)
    shared = row * (3 * 32_768 + 14 * 1028)
    assert [step.bytes for step in steps] == [published, one, windowed, shared]
    assert [step.factor for step in steps] == [1, 8, one / windowed, windowed / shared]
    assert steps[-1].running == published / shared > 20
    assert steps[0].name == "as published" and not any(step.refused for step in steps)


def test_a_latent_takes_the_place_of_k_and_v():
    (_, step) = waterfall(ask("llama-3.1-8b", 4096), [Edit("latent", 512)])
    assert step.bytes == 32 * (512 + 64) * 2 * 4096


def test_formats_count_their_scales():
    (_, step) = waterfall(ask("llama-3.1-8b", 4096), [Edit("format", format="int8/q4_0")])
    assert step.bytes == 32 * 8 * ((128 + 4) + (4 * 18)) * 4096


def test_each_kind_of_layer_divides_its_own_heads():
    question = of_plan(full(8), full(4, window=100), full(8))
    plan = edited(question, [Edit("fewer_kv_heads", 4)]).plan
    assert [layer.stores[0].kv_heads for layer in plan.layers] == [2, 1, 2]
    assert plan.layers[1].stores[0].window == 100
    with pytest.raises(CannotEdit, match="layer 1 has 4 KV heads: not a multiple of 8"):
        edited(question, [Edit("fewer_kv_heads", 8)])


def test_windows_count_the_layers_that_attend_so_that_some_stay_global():
    state = Layer(8, (Store("state", state=((10, F32),), grows_with="nothing"),))
    hybrid = edited(of_plan(state, state, full(), state, full(), state), [Edit("window", 10, every=2)]).plan
    assert [s.window for layer in hybrid.layers for s in layer.stores if s.role == "self"] == [10, None]
    # Where neighbours share, every second layer has no memory of its own.
    shared = edited(of_plan(*[full()] * 8), [Edit("share", 2), Edit("window", 10, every=2)]).plan
    assert [layer.stores[0].window for layer in shared.layers if layer.stores] == [10, None, 10, None]


def test_sharing_again_leads_every_reader_to_an_owner():
    plan = edited(of_plan(*[full()] * 8), [Edit("share", 2), Edit("share", 2)]).plan
    assert [layer.reads_from for layer in plan.layers] == [None, 0, 0, 0, None, 4, 4, 4]
    assert plan.bytes(100) == of_plan(full(), full()).plan.bytes(100)
    # What read a layer that now reads another reads that other; what keeps nothing is left alone.
    reader, silent = Layer(8, (), reads_from=1), Layer(8, ())
    again = edited(of_plan(full(), full(), reader, silent), [Edit("share", 2)]).plan
    assert [layer.reads_from for layer in again.layers] == [None, 0, 0, None]


def test_only_layers_of_one_kind_share():
    plan = edited(of_plan(full(), full(window=9), full(), full(window=9)), [Edit("share", 2)]).plan
    assert [layer.reads_from for layer in plan.layers] == [None, None, 0, 1]


@pytest.mark.parametrize(
    ("model", "edit", "says"),
    [
        ("deepseek-r1", Edit("one_kv_head"), "one KV head: .* no store of role self"),
        ("deepseek-r1", Edit("latent", 256), "latent of 256 . 64: .* no store of role self"),
        ("llama-3.1-8b", Edit("fewer_kv_heads", 3), "KV heads divided by 3: layer 0 has 8 KV heads"),
        ("mamba-2.8b", Edit("window", 10), "windows of 10: no layer of this model looks back"),
        ("mamba-2.8b", Edit("share", 2), "2 neighbours share: this plan has no layer whose memory grows"),
        ("mamba-2.8b", Edit("format", format="int8"), "a state and no K and V"),
    ],
)
def test_an_edit_that_a_plan_cannot_take_is_refused_by_name_and_left_out(model, edit, says):
    question = ask(model, 4096)
    with pytest.raises(CannotEdit, match=says):
        edited(question, [edit])
    first, second = waterfall(question, [edit])
    assert (second.bytes, second.factor, second.running) == (first.bytes, 1, 1)
    assert second.name == edit.name and second.refused.startswith(edit.name)
    same, (why,) = possible(question, [edit])
    assert same == question and why == second.refused


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"kind": "halve"}, "halve.*fewer_kv_heads"),
        ({"kind": "share", "number": 1}, "number=1: must be 2 or more"),
        ({"kind": "fewer_kv_heads"}, "number=0"),
        ({"kind": "window", "number": 2.5}, "number=2.5"),
        ({"kind": "window", "number": True}, "number=True"),
        ({"kind": "window", "number": 5, "every": 1}, "no layer gets a window"),
        ({"kind": "window", "number": 5, "sinks": -1}, "sinks=-1"),
        ({"kind": "latent", "number": 10**80}, "number=1000"),
        ({"kind": "format"}, "format ''.*q8_0"),
        ({"kind": "format", "format": "fp3"}, "fp3.*q8_0"),
    ],
)
def test_edits_that_cannot_be_are_refused(arguments, says):
    with pytest.raises(CannotEdit, match=says) as caught:
        Edit(**arguments)
    assert isinstance(caught.value, MemlessonsError) and len(str(caught.value)) < 300


@pytest.mark.parametrize("edit", ALL, ids=lambda edit: edit.name)
def test_the_code_of_an_edit_makes_it_again(edit):
    assert eval(edit.code, {"Edit": Edit}) == edit


def test_names_are_short_enough_for_two_lines_and_differ():
    assert max(len(edit.name) for edit in ALL) <= 54
    assert len({edit.name for edit in ALL}) == len(ALL)
    endings = [Edit("window", 5, every=n).name.rpartition(" ")[2] for n in (2, 3, 4, 11, 21, 22, 113)]
    assert endings == ["2nd", "3rd", "4th", "11th", "21st", "22nd", "113th"]


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(presets.names()),
    st.lists(st.sampled_from(ALL), max_size=4),
    st.integers(1, 200_000),
)
def test_no_model_and_no_edits_make_it_fail_and_factors_multiply(name, edits, context):
    question = ask(name, context)
    steps = waterfall(question, edits)
    assert len(steps) == len(edits) + 1
    for before, after in itertools.pairwise(steps):
        if after.refused:
            assert after.bytes == before.bytes
        elif after.bytes:
            assert after.factor == before.bytes / after.bytes
            assert after.running == pytest.approx(before.running * after.factor)
    changed, refused = possible(question, edits)
    assert changed.plan.bytes(context, encoder_tokens=question.encoder) == steps[-1].bytes
    assert [bool(why) for why in refused] == [bool(step.refused) for step in steps[1:]]
    assert changed.model.name == question.model.name and changed.weights == question.weights
