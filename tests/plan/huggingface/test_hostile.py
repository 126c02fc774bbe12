"""Any file or object ends in a plan or in a named error that is no larger than a screen."""

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memlessons import places
from memlessons.plan import InvalidPlan
from memlessons.plan.huggingface import BadConfig, UnknownArchitecture, from_huggingface
from memlessons.plan.huggingface.fields import MOST_LAYERS
from memlessons.plan.huggingface.source import MOST_BYTES
from tests.plan.huggingface.fuzz import damaged, outcome

EXAMPLES = 2_000 if places.pace() == "quick" else 5_000
LLAMA: dict[str, Any] = {
    "model_type": "llama", "num_hidden_layers": 4, "hidden_size": 256, "num_attention_heads": 8,
    "num_key_value_heads": 2,
}  # fmt: skip


@settings(max_examples=EXAMPLES)
@given(st.integers(0, 2**64))
def test_a_damaged_configuration_gives_a_plan_or_a_named_error(seed: int):
    assert outcome(damaged(random.Random(seed)), draft=seed % 2 == 0) in (
        "plan", "bad configuration", "unknown architecture",
    )  # fmt: skip


_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
_VALUES = st.recursive(
    _SCALARS, lambda v: st.lists(v, max_size=5) | st.dictionaries(st.text(max_size=8), v, max_size=4)
)


@given(st.sampled_from(sorted(LLAMA)), _VALUES)
def test_any_value_in_any_field_gives_a_plan_or_a_named_error(field: str, value: Any):
    outcome(LLAMA | {field: value})


@given(st.dictionaries(st.text(max_size=8), _VALUES, max_size=6))
def test_any_object_gives_a_plan_or_a_named_error(config: dict[str, Any]):
    outcome(config)


@given(st.binary(max_size=200))
def test_any_file_gives_a_plan_or_a_named_error(tmp_path_factory: pytest.TempPathFactory, data: bytes):
    path = tmp_path_factory.mktemp("file") / "config.json"
    path.write_bytes(data)
    with pytest.raises(InvalidPlan):
        from_huggingface(path)


BAD_NUMBERS = [
    "4", -4, 0, 0.5, 10**30, -(10**30), math.nan, math.inf, -math.inf, True, [4], {"n": 4}, "x" * 10**6,
]  # fmt: skip


@pytest.mark.parametrize("value", BAD_NUMBERS, ids=lambda v: repr(v)[:20])
@pytest.mark.parametrize(
    "field", ["num_hidden_layers", "hidden_size", "num_attention_heads", "num_key_value_heads"]
)
def test_a_number_that_cannot_be_is_named_with_its_field(field: str, value: Any):
    with pytest.raises(BadConfig, match=field) as caught:
        from_huggingface(LLAMA | {field: value})
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("layers", [MOST_LAYERS + 1, 100_000, 10**9])
def test_more_layers_than_any_model_has_are_refused_before_they_are_built(layers: int):
    with pytest.raises(BadConfig, match="num_hidden_layers"):
        from_huggingface(LLAMA | {"num_hidden_layers": layers})
    with pytest.raises(BadConfig, match="layer_types"):
        from_huggingface(
            LLAMA | {"layer_types": ["full_attention"] * layers if layers < 10**6 else ["x"] * 10**5}
        )


def test_the_most_layers_with_every_kind_of_list_are_read():
    n = MOST_LAYERS
    config = LLAMA | {
        "num_hidden_layers": n, "layer_types": ["indexed_attention"] * n, "index_head_dim": 8,
        "kv_lora_rank": 16,
        "qk_rope_head_dim": 8, "no_rope_layers": [1] * n, "indexer_types": ["full"] * n,
        "kv_source_layers": list(range(n)), "num_key_value_heads": [2] * n,
    }  # fmt: skip
    assert from_huggingface(config).bytes(1) == n * 2 * (16 + 8 + 8)


@pytest.mark.parametrize("inner", ["text_config", "decoder", "thinker_config"])
def test_an_object_that_holds_itself_is_refused(inner: str):
    config = dict(LLAMA)
    config[inner] = config
    with pytest.raises(BadConfig, match="nested"):
        from_huggingface(config)
    deep: dict[str, Any] = dict(LLAMA)
    for _ in range(100_000):
        deep = {inner: deep}
    with pytest.raises(BadConfig, match="nested"):
        from_huggingface(deep)
    while inner in deep:  # taken apart from the outside: Python's own destructor recurses
        deep = deep.pop(inner)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\x00\x01\x02\xff", b"GGUF\x03\x00\x00\x00", b"[1, 2]", b'"llama"', b"null", b"7", b"{",
        b'{"a": }',
        b"[" * 100_000, b'{"text_config":' * 100_000, b'{"num_hidden_layers": ' + b"9" * 5000 + b"}",
        "{}".encode("utf-16"), b"\xef\xbb\xbf", b"NaN",
    ],
    ids=lambda data: repr(data[:12]),
)  # fmt: skip
def test_a_file_that_is_no_configuration_is_refused_by_its_name(tmp_path: Path, data: bytes):
    path = tmp_path / "config.json"
    path.write_bytes(data)
    with pytest.raises(BadConfig, match=r"config\.json") as caught:
        from_huggingface(path)
    assert len(str(caught.value)) < len(str(path)) + 300


def test_a_file_that_is_too_large_is_refused_without_being_read(tmp_path: Path):
    path = tmp_path / "config.json"
    with path.open("wb") as file:
        file.truncate(50 * 2**20)
    with pytest.raises(BadConfig, match="52,428,800 bytes"):
        from_huggingface(path)
    with pytest.raises(BadConfig, match="characters"):
        from_huggingface("{" + " " * MOST_BYTES + "}")


def test_a_mark_of_the_byte_order_and_infinite_numbers_are_read_past(tmp_path: Path):
    path = tmp_path / "config.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(LLAMA | {"rope_scaling": math.inf}).encode())
    assert from_huggingface(path) == from_huggingface(LLAMA)


def test_a_folder_is_its_configuration_and_a_missing_one_is_named(tmp_path: Path):
    with pytest.raises(BadConfig, match=r"config\.json cannot be read"):
        from_huggingface(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    assert from_huggingface(tmp_path) == from_huggingface(str(tmp_path / "config.json"))
    (tmp_path / "folder" / "config.json").mkdir(parents=True)
    with pytest.raises(BadConfig, match="cannot be read"):
        from_huggingface(tmp_path / "folder")


@pytest.mark.parametrize("source", ["", "no/such/file", "\x00", "x" * 5000, "~", "."])
def test_a_path_to_nothing_is_refused(source: str):
    with pytest.raises(BadConfig):
        from_huggingface(source)


@pytest.mark.parametrize("source", [None, 7, 1.5, b"{}", [], [LLAMA], object()])
def test_what_is_no_configuration_at_all_is_refused(source: Any):
    with pytest.raises(InvalidPlan):
        from_huggingface(source)


def test_an_unknown_model_is_refused_and_not_guessed():
    with pytest.raises(UnknownArchitecture, match="key and value heads"):
        from_huggingface(
            {k: v for k, v in LLAMA.items() if k != "num_key_value_heads"} | {"model_type": "never heard"}
        )
