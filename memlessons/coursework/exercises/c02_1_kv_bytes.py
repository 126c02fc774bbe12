"""02.1: bytes of a KV cache, from a model's configuration file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memlessons.coursework.exercise import Exercise, Inputs, Mistake

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def kv_bytes(config: dict[str, Any], context: int, batch: int, bits_k: int, bits_v: int) -> int:
    """Bytes of the keys and values of `batch` sequences of `context` tokens each, in all layers.

    `config` is a config.json read into a dict: "num_hidden_layers", "hidden_size", "num_attention_heads",
    and two that may be absent or None: "num_key_value_heads" (then every query head has its own keys and
    values) and "head_dim", numbers in one head's key (then the hidden size is divided among the query
    heads). `bits_k` and `bits_v` are bits per stored number of a key and of a value. Head widths are
    multiples of 8, so that every key fills whole bytes and nothing is rounded.
    """
    heads = config["num_attention_heads"]
    kv_heads = config.get("num_key_value_heads") or heads
    width = config.get("head_dim") or config["hidden_size"] // heads
    numbers = config["num_hidden_layers"] * kv_heads * width * context * batch
    return numbers * (bits_k + bits_v) // 8


def _hidden_over_heads(config: dict[str, Any], context: int, batch: int, bits_k: int, bits_v: int) -> int:
    heads = config["num_attention_heads"]
    kv_heads = config.get("num_key_value_heads") or heads
    width = config["hidden_size"] // heads
    numbers = config["num_hidden_layers"] * kv_heads * width * context * batch
    return numbers * (bits_k + bits_v) // 8


def _query_heads(config: dict[str, Any], context: int, batch: int, bits_k: int, bits_v: int) -> int:
    heads = config["num_attention_heads"]
    width = config.get("head_dim") or config["hidden_size"] // heads
    numbers = config["num_hidden_layers"] * heads * width * context * batch
    return numbers * (bits_k + bits_v) // 8


def _one_copy(config: dict[str, Any], context: int, batch: int, bits_k: int, bits_v: int) -> int:
    heads = config["num_attention_heads"]
    kv_heads = config.get("num_key_value_heads") or heads
    width = config.get("head_dim") or config["hidden_size"] // heads
    numbers = config["num_hidden_layers"] * kv_heads * width * context * batch
    return numbers * bits_k // 8


def _no_batch(config: dict[str, Any], context: int, batch: int, bits_k: int, bits_v: int) -> int:
    heads = config["num_attention_heads"]
    kv_heads = config.get("num_key_value_heads") or heads
    width = config.get("head_dim") or config["hidden_size"] // heads
    numbers = config["num_hidden_layers"] * kv_heads * width * context
    return numbers * (bits_k + bits_v) // 8


def _bits_as_bytes(config: dict[str, Any], context: int, batch: int, bits_k: int, bits_v: int) -> int:
    heads = config["num_attention_heads"]
    kv_heads = config.get("num_key_value_heads") or heads
    width = config.get("head_dim") or config["hidden_size"] // heads
    numbers = config["num_hidden_layers"] * kv_heads * width * context * batch
    return numbers * (bits_k + bits_v)


def _v_stored_like_k(config: dict[str, Any], context: int, batch: int, bits_k: int, bits_v: int) -> int:
    heads = config["num_attention_heads"]
    kv_heads = config.get("num_key_value_heads") or heads
    width = config.get("head_dim") or config["hidden_size"] // heads
    numbers = config["num_hidden_layers"] * kv_heads * width * context * batch
    return numbers * 2 * bits_k // 8


def _hidden_over_kv_heads(config: dict[str, Any], context: int, batch: int, bits_k: int, bits_v: int) -> int:
    heads = config["num_attention_heads"]
    kv_heads = config.get("num_key_value_heads") or heads
    width = config.get("head_dim") or config["hidden_size"] // kv_heads
    numbers = config["num_hidden_layers"] * kv_heads * width * context * batch
    return numbers * (bits_k + bits_v) // 8


def _layers_forgotten(config: dict[str, Any], context: int, batch: int, bits_k: int, bits_v: int) -> int:
    heads = config["num_attention_heads"]
    kv_heads = config.get("num_key_value_heads") or heads
    width = config.get("head_dim") or config["hidden_size"] // heads
    numbers = kv_heads * width * context * batch
    return numbers * (bits_k + bits_v) // 8


def _draw() -> SearchStrategy[Inputs]:
    from hypothesis import strategies as st

    @st.composite
    def inputs(pick: st.DrawFn) -> Inputs:
        kv_heads, group = pick(st.sampled_from([1, 2, 3, 8])), pick(st.sampled_from([1, 2, 4, 7]))
        heads = kv_heads * group
        config = {
            "hidden_size": heads * pick(st.sampled_from([8, 16, 64])),
            "num_attention_heads": heads,
        }
        # Where a file names no number of KV heads, every query head has its own: group does not matter.
        config |= pick(
            st.sampled_from([{"num_key_value_heads": kv_heads}] * 4 + [{"num_key_value_heads": None}, {}])
        )
        config |= pick(st.sampled_from([{"head_dim": 24}, {"head_dim": 128}, {"head_dim": None}, {}]))
        # The layers come last: where a message has no room for all, they are missed least.
        config["num_hidden_layers"] = pick(st.integers(1, 40))
        return {
            "config": config,
            "context": pick(st.integers(1, 5000)),
            "batch": pick(st.sampled_from([1, 2, 5, 32])),
            "bits_k": pick(st.sampled_from([2, 4, 6, 8, 16])),
            "bits_v": pick(st.sampled_from([2, 3, 4, 8, 16])),
        }

    return inputs()


EXERCISE = Exercise(
    id="02.1",
    title="Bytes of a cache",
    kind="build",
    reference=kv_bytes,
    draw=_draw,
    mistakes=(
        Mistake(
            "hidden / heads",
            "Is head_dim in the config? Where it is, it need not be hidden size over heads.",
            _hidden_over_heads,
        ),
        Mistake("query heads", "Whose K is stored? Several query heads may share one.", _query_heads),
        Mistake("one copy", "K is counted, and what else does attention read?", _one_copy),
        Mistake("no batch", "Whose cache is this? Every sequence of the batch has its own.", _no_batch),
        Mistake("bits as bytes", "How many bits make a byte? Eight of them.", _bits_as_bytes),
        Mistake("V stored like K", "Two formats were given: which one is for V?", _v_stored_like_k),
        Mistake(
            "hidden_size / KV heads",
            "Which heads share out hidden_size?",
            _hidden_over_kv_heads,
            pins=(
                {
                    "config": {
                        "hidden_size": 32,
                        "num_attention_heads": 4,
                        "num_key_value_heads": 1,
                        "num_hidden_layers": 1,
                    },
                    "context": 1,
                    "batch": 1,
                    "bits_k": 8,
                    "bits_v": 8,
                },
            ),
        ),
        Mistake("layers forgotten", "How many layers keep a K and a V?", _layers_forgotten),
    ),
    hints=(
        "What is written down for one token, in one layer, and by how many heads?",
        "Count stored numbers first: layers, KV heads, head width, tokens, sequences. Then give K and V "
        "their bits.",
        "`kv_heads = config.get('num_key_value_heads') or config['num_attention_heads']`",
    ),
    shown=(
        {
            "config": {
                "num_hidden_layers": 2,
                "hidden_size": 32,
                "num_attention_heads": 4,
                "num_key_value_heads": 2,
            },
            "context": 10,
            "batch": 3,
            "bits_k": 16,
            "bits_v": 8,
        },
    ),
    outputs="an int, bytes",
)
