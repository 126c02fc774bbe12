"""A language model from a file: weights, plan, tokenizer and chat template, ready to run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from memlessons.errors import MemlessonsError
from memlessons.model.chat_template import ChatTemplate, Message, TemplateError
from memlessons.model.config import DecoderConfig
from memlessons.model.decoder import Decoder
from memlessons.model.fetch import locate
from memlessons.model.file_errors import UnsupportedModel
from memlessons.model.gguf_file import read_gguf
from memlessons.model.tokenizer import Tokenizer
from memlessons.plan import BF16, F16, F32, F64, INT8, Format, MemoryPlan, Weights, full_attention

FORMAT_OF: dict[torch.dtype, Format] = {
    torch.float64: F64,
    torch.float32: F32,
    torch.float16: F16,
    torch.bfloat16: BF16,
}


class UnknownDtype(MemlessonsError, ValueError):
    """A dtype in which no decoder computes."""


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """A model, loaded. `plan` says what it remembers, `weights` what its weights take in this dtype.

    `chat_template` is None for a model that was not trained to chat.
    """

    name: str
    config: DecoderConfig
    plan: MemoryPlan
    weights: Weights
    decoder: Decoder
    tokenizer: Tokenizer
    chat_template: ChatTemplate | None
    path: Path

    def prompt(self, messages: Sequence[Message]) -> list[int]:
        """Token ids of a conversation, up to where the model's answer begins.

        Each message has a `role` ("system", "user", "assistant") and a `content`; control tokens written
        in a content are plain text. Raises TemplateError.
        """
        if self.chat_template is None:
            raise TemplateError(
                f"{self.name} brings no chat template: give it plain text to continue instead"
            )
        return self.chat_template.encode(messages, self.tokenizer)


def load(
    name: str | Path = "smollm2",
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
    plan: MemoryPlan | None = None,
    int8_weights: bool = False,
    kernels: bool = True,
) -> LanguageModel:
    """Load a model of the catalogue, or a GGUF file by its path.

    `plan` says what the layers remember; without one, keys and values of every token in `dtype`. With
    `int8_weights`, matrices are kept in eight bits, with a scale for each row. Without `kernels`, all is done
    by torch's own operations. The
    first time takes seconds, since quantised weights are expanded and kept; then they are mapped. Raises
    ModelNotFetched (which says how to get it) and the other errors of `memlessons.model.fetch`.
    """
    if str(name).startswith("hf:"):
        raise UnsupportedModel(
            f"{name}: load() reads GGUF files; use transformers for a repository of the hub"
        )
    path = locate(str(name))
    read = read_gguf(path)
    tokenizer = Tokenizer.from_gguf_metadata(read.metadata)
    if len(tokenizer) != read.config.vocabulary:
        raise UnsupportedModel(
            f"{path}: {len(tokenizer):,} tokens in the vocabulary, but {read.config.vocabulary:,} rows "
            "in the embedding"
        )
    plan = plan_of(read.config, dtype) if plan is None else plan
    decoder = Decoder(read.config, plan)
    decoder.kernels = kernels
    decoder.load_weights(read.weights, dtype=dtype, device=device, int8=int8_weights)
    has_template = "tokenizer.chat_template" in read.metadata
    return LanguageModel(
        name=str(name),
        config=read.config,
        plan=plan,
        weights=weights_of(read.config, dtype, source=path.name, int8=int8_weights),
        decoder=decoder,
        tokenizer=tokenizer,
        chat_template=ChatTemplate.from_gguf_metadata(read.metadata) if has_template else None,
        path=path,
    )


def plan_of(config: DecoderConfig, dtype: torch.dtype = torch.float32) -> MemoryPlan:
    """The plan of a decoder that keeps K and V of every token in each layer, in that dtype."""
    return full_attention(
        config.layers,
        config.query_heads,
        config.kv_heads,
        config.head_width,
        _format_of(dtype),
        "every token",
    )


def weights_of(config: DecoderConfig, dtype: torch.dtype, source: str, *, int8: bool = False) -> Weights:
    """Bytes and counts of the weights as the decoder holds them.

    A token touches all of them, but of an embedding that is not also the unembedding only one row.
    """
    shapes = config.weight_shapes()
    sizes = {name: torch.Size(shape).numel() for name, shape in shapes.items()}
    parameters = sum(sizes.values())
    idle = 0 if config.tied else sizes["embed"] - config.hidden
    stored = sum(_stored(shape, _format_of(dtype), int8) for shape in shapes.values())
    return Weights(stored, parameters, parameters - idle, source)


def _stored(shape: tuple[int, ...], format: Format, int8: bool) -> int:
    if int8 and len(shape) == 2:
        return shape[0] * INT8.row_bytes(shape[1])
    return torch.Size(shape).numel() * format.bits // 8


def _format_of(dtype: torch.dtype) -> Format:
    try:
        return FORMAT_OF[dtype]
    except KeyError:
        known = ", ".join(str(known) for known in FORMAT_OF)
        raise UnknownDtype(f"dtype={dtype}: a decoder computes in one of {known}") from None
