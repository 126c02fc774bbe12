"""A tiny llama in a GGUF file, written by the `gguf` package, and the same weights as a checkpoint has them.

The checkpoint's layout is the half-split one; `interleaved` writes rows as llama.cpp's converter does.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gguf
import numpy as np

LAYERS, HIDDEN, QUERY_HEADS, KV_HEADS, HEAD_WIDTH, INTERMEDIATE, CONTEXT = 2, 64, 4, 2, 16, 96, 64
CONTROL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
TEMPLATE = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
FLOAT32 = gguf.GGMLQuantizationType.F32


def byte_characters() -> list[str]:
    """GPT-2's visible character of each byte, by counting: those that print stay, others move up."""
    stay = set(range(33, 127)) | set(range(161, 173)) | set(range(174, 256))
    moved = iter(range(256, 512))
    return [chr(b) if b in stay else chr(next(moved)) for b in range(256)]


def vocabulary() -> tuple[list[str], list[str]]:
    """Tokens and merges: the control tokens, 256 bytes, and a few words."""
    merges = ["h e", "l l", "he ll", "hell o", "Ġ w", "o r", "Ġw or", "l d", "Ġwor ld"]
    return [*CONTROL, *byte_characters(), *(m.replace(" ", "") for m in merges)], merges


def interleaved(rows: np.ndarray, head_width: int = HEAD_WIDTH) -> np.ndarray:
    """Rows of half-split pairs to neighbouring pairs, row by row."""
    out = np.empty_like(rows)
    for head in range(len(rows) // head_width):
        for i in range(head_width // 2):
            out[head * head_width + 2 * i] = rows[head * head_width + i]
            out[head * head_width + 2 * i + 1] = rows[head * head_width + head_width // 2 + i]
    return out


@dataclass
class Tiny:
    """What to write; change a field to write something else. `tensors` are in the checkpoint's layout."""

    seed: int = 0
    tied: bool = True
    arch: str = "llama"
    kinds: dict[str, gguf.GGMLQuantizationType] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    tensors: dict[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        stream, (tokens, _) = np.random.default_rng(self.seed), vocabulary()

        def random(*shape: int) -> np.ndarray:
            scale, shift = (0.1, 1.0) if len(shape) == 1 else (0.2, 0.0)
            return (stream.standard_normal(shape) * scale + shift).astype(np.float32)

        self.tensors["token_embd"] = random(len(tokens), HIDDEN)
        self.tensors["output_norm"] = random(HIDDEN)
        if not self.tied:
            self.tensors["output"] = random(len(tokens), HIDDEN)
        for i in range(LAYERS):
            self.tensors |= {
                f"blk.{i}.attn_norm": random(HIDDEN),
                f"blk.{i}.attn_q": random(QUERY_HEADS * HEAD_WIDTH, HIDDEN),
                f"blk.{i}.attn_k": random(KV_HEADS * HEAD_WIDTH, HIDDEN),
                f"blk.{i}.attn_v": random(KV_HEADS * HEAD_WIDTH, HIDDEN),
                f"blk.{i}.attn_output": random(HIDDEN, QUERY_HEADS * HEAD_WIDTH),
                f"blk.{i}.ffn_norm": random(HIDDEN),
                f"blk.{i}.ffn_gate": random(INTERMEDIATE, HIDDEN),
                f"blk.{i}.ffn_up": random(INTERMEDIATE, HIDDEN),
                f"blk.{i}.ffn_down": random(HIDDEN, INTERMEDIATE),
            }

    def stored(self, name: str) -> np.ndarray:
        """The tensor as the file holds it, before quantisation."""
        turned = name.endswith(("attn_q", "attn_k"))
        return interleaved(self.tensors[name]) if turned else self.tensors[name]

    def write(self, path: Path) -> Path:
        """Write the file and return its path."""
        tokens, merges = vocabulary()
        writer = gguf.GGUFWriter(path, self.arch)
        writer.add_block_count(LAYERS)
        writer.add_context_length(CONTEXT)
        writer.add_embedding_length(HIDDEN)
        writer.add_feed_forward_length(INTERMEDIATE)
        writer.add_head_count(QUERY_HEADS)
        writer.add_head_count_kv(KV_HEADS)
        writer.add_layer_norm_rms_eps(1e-5)
        writer.add_rope_freq_base(10_000.0)
        writer.add_rope_dimension_count(HEAD_WIDTH)
        writer.add_vocab_size(len(tokens))
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("smollm")
        writer.add_token_list(tokens)
        writer.add_token_merges(merges)
        writer.add_token_types([3 if t in CONTROL else 1 for t in tokens])
        writer.add_bos_token_id(1)
        writer.add_eos_token_id(2)
        writer.add_chat_template(TEMPLATE)
        for key, value in self.metadata.items():
            if key in writer.kv_data[0]:
                del writer.kv_data[0][key]
            if isinstance(value, str):
                writer.add_string(key, value)
            elif isinstance(value, list):
                writer.add_array(key, value)
            elif isinstance(value, float):
                writer.add_float32(key, value)
            elif value is not None:
                writer.add_uint32(key, value)
        for name in self.tensors:
            kind = self.kinds.get(name, FLOAT32)
            writer.add_tensor(f"{name}.weight", gguf.quants.quantize(self.stored(name), kind), raw_dtype=kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path
