"""The format that a file asks for keys and values is reported, and changes no plan."""

from typing import Any

import pytest

from memlessons.plan.huggingface import read_huggingface

_LLAMA: dict[str, Any] = {
    "model_type": "llama", "num_hidden_layers": 4, "hidden_size": 256, "num_attention_heads": 8,
    "num_key_value_heads": 2,
}  # fmt: skip
_ODD: list[Any] = [None, "fp8", 8, [], {"type": "float"}, {"num_bits": 8}, {"num_bits": "8", "type": "float"},
        {"num_bits": 10**30, "type": "int"}, {"num_bits": True, "type": "x" * 10**6}]  # fmt: skip


@pytest.mark.parametrize(
    ("quantised", "expected"),
    [
        ({"quant_method": "compressed-tensors",
          "kv_cache_scheme": {"num_bits": 8, "type": "float", "strategy": "tensor"}}, "fp8"),
        ({"kv_cache_scheme": {"num_bits": 8, "type": "int"}}, "int8"),
        ({"kv_cache_scheme": {"num_bits": 4, "type": "float"}}, "fp4"),
        ({"quant_method": "modelopt", "kv_cache_quant_algo": "FP8"}, "fp8"),
        ({"quant_method": "fp8"}, None),
        (None, None),
        *(({"kv_cache_scheme": odd}, None) for odd in _ODD),
        *(({"kv_cache_quant_algo": odd}, None) for odd in (None, 8, "", "x" * 10**6)),
    ],
    ids=lambda value: str(value)[:60],
)  # fmt: skip
def test_the_format_of_keys_and_values_is_that_of_the_file(quantised: Any, expected: str | None) -> None:
    found = read_huggingface(_LLAMA | {"quantization_config": quantised})
    assert found.kv_dtype == expected
    assert found.plan == read_huggingface(_LLAMA).plan


def test_the_format_may_stand_around_the_language_model() -> None:
    scheme = {"kv_cache_scheme": {"num_bits": 8, "type": "float"}}
    assert read_huggingface({"text_config": _LLAMA, "quantization_config": scheme}).kv_dtype == "fp8"
