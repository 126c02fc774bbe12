"""Metadata of one architecture, read by name with types and bounds checked, and keys nobody knows refused."""

from typing import Any

from memlessons.plan.gguf.errors import BadMetadata, UnknownMetadata, UnsupportedModel
from memlessons.plan.gguf.header import GGUFHeader, LongArray

MOST_LAYERS = 2048
MOST = 2**24
LONGEST = 2**40

# What llama.cpp reads of `ARCH.attention.*` and of the groups below and as_config takes into account.
_ATTENTION_READ = {
    "head_count", "head_count_kv", "key_length", "value_length", "key_length_mla", "value_length_mla",
    "key_length_swa", "value_length_swa", "kv_lora_rank", "sliding_window", "sliding_window_pattern",
    "shared_kv_layers", "recurrent_layers", "chunk_size", "causal", "indexer.head_count",
    "indexer.key_length", "indexer.top_k", "indexer.types",
}  # fmt: skip
# What it reads that changes results and no memory.
_ATTENTION_HARMLESS = {
    "max_alibi_bias", "clamp_kqv", "layer_norm_epsilon", "layer_norm_rms_epsilon", "group_norm_epsilon",
    "group_norm_groups", "q_lora_rank", "decay_lora_rank", "iclr_lora_rank", "gate_lora_rank",
    "value_residual_mix_lora_rank", "relative_buckets_count", "rope_pattern", "scale", "output_scale",
    "value_scale", "temperature_length", "temperature_scale", "temperature_floor", "output_group_count",
    "output_lora_rank", "compress_rope_freq_base", "logit_softcapping",
}  # fmt: skip
_READ = {
    "ssm.conv_kernel", "ssm.inner_size", "ssm.state_size", "ssm.time_step_rank", "ssm.group_count",
    "kda.head_dim", "wkv.head_size", "token_shift_count", "shortconv.l_cache", "full_attention_interval",
    "nextn_predict_layers", "block_count", "decoder_block_count", "indexer.head_count", "indexer.key_length",
    "indexer.top_k", "indexer.types",
}  # fmt: skip
_HARMLESS = {
    "ssm.dt_b_c_rms", "kda.safe_gate", "kda.gate_lower_bound", "leading_dense_block_count",
    "interleave_moe_layer_step", "moe_every_n_layers", "rescale_every_n_layers", "hash_layer_count",
    "n_deepstack_layers",
}  # fmt: skip
_GROUPS = ("attention.", "ssm.", "kda.", "wkv.", "shortconv.", "indexer.", "ple.", "hrm.")
# Of an encoder of images or sound, which keeps nothing between tokens.
_ENCODERS = ("vision.", "audio.", "posnet.", "convnext.", "rope.")
_TELLING = (
    "cache",
    "window",
    "recurrent",
    "state",
    "compress",
    "stride",
    "shared_kv",
    "kv_",
    "loop",
    "block_count",
)


class Metadata:
    """The metadata of `header`'s architecture; every read is of the asked type and within its bounds."""

    def __init__(self, header: GGUFHeader) -> None:
        self.header = header
        arch = header.metadata.get("general.architecture")
        if not isinstance(arch, str) or not 0 < len(arch) <= 100:
            raise BadMetadata(f"{header.path}: general.architecture={short(arch)}: must be a short name")
        self.arch = arch

    def error(self, key: str, value: Any, rule: str) -> BadMetadata:
        """The error of a value that breaks this rule."""
        return BadMetadata(f"{self.header.path}: {self.arch}.{key}={short(value)}: {rule}")

    def raw(self, key: str) -> Any:
        """The value as it stands in the file, None if absent."""
        return self.header.metadata.get(f"{self.arch}.{key}")

    def checked(self, key: str, value: Any, least: int, most: int) -> int:
        """A whole number within bounds."""
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error(key, value, "must be a whole number")
        if not least <= value <= most:
            raise self.error(key, value, f"must be from {least:,} to {most:,}")
        return value

    def whole(self, key: str, *, least: int = 0, most: int = MOST) -> int | None:
        """A whole number within bounds, None if absent."""
        value = self.raw(key)
        return None if value is None else self.checked(key, value, least, most)

    def need(self, key: str, *, least: int = 1, most: int = MOST) -> int:
        """A whole number that must be there."""
        value = self.whole(key, least=least, most=most)
        if value is None:
            raise BadMetadata(f"{self.header.path}: {self.arch}.{key} is missing from the metadata")
        return value

    def per_layer(self, key: str, layers: int, extra: int = 0) -> list[int] | None:
        """One whole number a layer, from one for all or from a list; None if absent.

        A list may count the `extra` layers of a draft head too, which come last.
        """
        value = self.raw(key)
        if value is None:
            return None
        if not isinstance(value, list):
            return [self.checked(key, value, 0, MOST)] * layers
        self.check_length(key, value, layers, extra)
        return [self.checked(key, entry, 0, MOST) for entry in value[:layers]]

    def flags(self, key: str, layers: int, extra: int = 0) -> list[bool] | None:
        """One true or false a layer from a list (of truth values, or of ones and zeros), None if no list."""
        value = self.raw(key)
        if isinstance(value, LongArray):
            raise self.error(key, value, f"must have one entry for each of the {layers} layers")
        if not isinstance(value, list):
            return None
        self.check_length(key, value, layers, extra)
        for entry in value:
            if not isinstance(entry, bool | int) or entry not in (0, 1):
                raise self.error(key, entry, "must be a list of truth values")
        return [bool(entry) for entry in value[:layers]]

    def check_length(self, key: str, value: list[Any], layers: int, extra: int) -> None:
        """Raise BadMetadata unless a list has an entry a layer."""
        if len(value) not in (layers, layers + extra):
            raise self.error(key, value, f"must have one entry for each of the {layers} layers")

    def refuse_unknown(self) -> None:
        """Raise UnknownMetadata for a key that may change what is remembered and that no rule here reads."""
        start = f"{self.arch}."
        for key in self.header.metadata:
            name = key.removeprefix(start)
            if name == key or name.startswith(_ENCODERS) or name in _READ or name in _HARMLESS:
                continue
            group, _, rest = name.partition(".")
            if group == "attention" and (rest in _ATTENTION_READ or rest in _ATTENTION_HARMLESS):
                continue
            if name.startswith(_GROUPS) or any(word in name for word in _TELLING):
                raise UnknownMetadata(
                    f"{self.header.path}: the key {key[:100]!r} may change what the model remembers, and no "
                    "rule here knows how: use the model's config.json instead"
                )

    def refuse_other_files(self) -> None:
        """Raise UnsupportedModel for a file that is no language model: an adapter, an encoder of images."""
        kind = self.header.metadata.get("general.type", "model")
        if kind != "model" or self.arch == "clip":
            raise UnsupportedModel(
                f"{self.header.path} is no language model (general.type={short(kind)}, architecture "
                f"{self.arch!r}): give the model's own file"
            )


def short(value: Any) -> str:
    """A value for a message, whatever its size."""
    if isinstance(value, LongArray):
        return f"a list of {value.length:,}"
    if isinstance(value, list):
        return f"a list of {len(value):,}"
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "..."
