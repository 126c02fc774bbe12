"""The peer: what `transformers` itself keeps for a type, read from the cache of a model that was really run.

Models are built on the meta device, where tensors have shapes and no data: no weights, no network, and a
model of 600 billion parameters runs in a second. Nothing here asks memlessons how large anything is.
`python -m tests.plan.huggingface.peer --write` makes the record `peer_caches.json` anew (ten minutes), and
with names of types after it those types' part of it.
"""

import importlib
import inspect
import os
import sys
import warnings
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import torch

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
warnings.filterwarnings("ignore", module="transformers")

import transformers  # noqa: E402
from transformers.modeling_outputs import BaseModelOutput  # noqa: E402
from transformers.models.auto import modeling_auto  # noqa: E402
from transformers.models.auto.configuration_auto import CONFIG_MAPPING  # noqa: E402

from tests.plan.huggingface.compare import Run  # noqa: E402
from tests.plan.huggingface.peer_layers import layers_of  # noqa: E402
from tests.plan.huggingface.peer_meta import Answers  # noqa: E402

SHORT = 7
NO_WINDOW = 10
ENCODER_TOKENS = 11
# Decoders of sound that are run without the encoder they belong to.
_SOUND = ("musicgen_decoder", "musicgen_melody_decoder")


def configuration(model_type: str, changes: Mapping[str, Any] | None = None) -> Any:
    """The class's own configuration of a type, with some arguments; "=a.b" sets an attribute afterwards."""
    given = changes or {}
    config = CONFIG_MAPPING[model_type](**{k: v for k, v in given.items() if not k.startswith("=")})
    for name, value in given.items():
        if name.startswith("="):
            *path, last = name[1:].split(".")
            at = config
            for step in path:
                at = getattr(at, step)
            setattr(at, last, value)
    return config


def build(config: Any, device: str = "meta") -> Any:
    """The model of a configuration: encoder and decoder, or decoder, or the text part; 16-bit."""
    text = config.get_text_config(decoder=True)
    for names, auto in (
        (modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES, transformers.AutoModelForSeq2SeqLM),
        (modeling_auto.MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES, transformers.AutoModelForSpeechSeq2Seq),
        (modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES, transformers.AutoModelForImageTextToText),
    ):
        if config.is_encoder_decoder and config.model_type in names:
            return _built(auto.from_config, config, device)
    if type(text) in transformers.AutoModelForCausalLM._model_mapping:
        return _built(transformers.AutoModelForCausalLM.from_config, text, device)
    return _built(_text_class(text)._from_config, text, device)


def _built(make: Any, config: Any, device: str) -> Any:
    with torch.device(device), Answers() if device == "meta" else nullcontext():
        return make(config, dtype=torch.bfloat16).eval()


def _text_class(config: Any) -> Any:
    """The class that runs a text configuration which no registry of the peer lists."""
    module = importlib.import_module(type(config).__module__.replace("configuration_", "modeling_"))
    found = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type) and getattr(value, "config_class", None) is type(config)
    }
    for ending in ("ForCausalLM", "TextModel", "ForConditionalGeneration", "Model", "Decoder"):
        for name, value in found.items():
            if name.endswith(ending) and "PreTrained" not in name and "Vision" not in name:
                return value
    raise ValueError(f"no class runs {type(config).__name__}: {', '.join(found) or 'none takes it'}")


def window_of(config: Any) -> int | None:
    """The window or chunk that a configuration names, on or off."""
    text = config.get_text_config(decoder=True)
    for name in ("sliding_window", "attention_chunk_size", "window_size", "sliding_window_size",
                 "attention_window_size"):  # fmt: skip
        size = getattr(text, name, None)
        if isinstance(size, int) and 0 < size < 300_000:
            return size
    return None


def run(model: Any, tokens: int) -> Run:
    """What each layer keeps after `tokens` tokens, an encoder's ENCODER_TOKENS where there is one."""
    device = model.device
    text = model.config.get_text_config(decoder=True)
    taken = inspect.signature(model.forward).parameters
    with torch.no_grad(), torch.device(device), Answers() if device.type == "meta" else nullcontext():
        rows = text.num_codebooks if text.model_type in _SOUND else 1
        ids = torch.zeros((rows, tokens), dtype=torch.long)
        inputs: dict[str, Any] = {"input_ids": ids, "use_cache": True}
        if "decoder_input_ids" in taken and model.config.is_encoder_decoder:
            inputs = {"decoder_input_ids": ids, "encoder_outputs": _encoded(model.config), "use_cache": True}
        elif "cross_attention_states" in taken:
            inputs["cross_attention_states"] = torch.zeros(
                (1, ENCODER_TOKENS, text.hidden_size), dtype=torch.bfloat16
            )
        elif text.model_type in _SOUND:
            inputs["encoder_hidden_states"] = torch.zeros(
                (1, ENCODER_TOKENS, text.hidden_size), dtype=torch.bfloat16
            )
        if hasattr(model, "_setup_cache"):
            # A type that keeps its states in its modules, and only keys and values in a cache.
            inputs["cache"] = transformers.DynamicCache(config=model.config)
            model._setup_cache(model.config, 1, device, torch.bfloat16)
        found = model(**inputs)
    cache = inputs.get("cache")
    for name in ("cache", "past_key_values", "cache_params", "state"):
        cache = cache if cache is not None else getattr(found, name, None)
    if cache is None:
        raise ValueError("the model returned no cache")
    return tokens, ENCODER_TOKENS, layers_of(cache, model)


def _encoded(config: Any) -> Any:
    """An encoder's output, so that no encoder of pictures or sound has to be fed."""
    places = (
        getattr(config, "encoder", None),
        getattr(config, "encoder_config", None),
        config,
        config.get_text_config(decoder=True),
    )
    widths = [
        getattr(place, name, None)
        for place in places
        for name in ("cross_attention_hidden_size", "cross_hidden_size", "hidden_size", "d_model")
    ]
    width = next(width for width in widths if isinstance(width, int))
    encoded = BaseModelOutput(last_hidden_state=torch.zeros((1, ENCODER_TOKENS, width), dtype=torch.bfloat16))
    encoded.attention_mask = encoded.router_logits = None
    return encoded


def runs(model: Any, config: Any) -> list[Run]:
    """What is kept at a few tokens, and beyond the window."""
    return [run(model, SHORT), run(model, (window_of(config) or NO_WINDOW) + 9)]


if __name__ == "__main__":
    from tests.plan.huggingface.peer_write import write_record

    if sys.argv[1:2] != ["--write"]:
        raise SystemExit("usage: python -m tests.plan.huggingface.peer --write [TYPE ...]")
    write_record(sys.argv[2:])
