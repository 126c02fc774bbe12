"""Hand-written GGUF files, byte by byte, that share no code with the reader."""

import struct
from pathlib import Path
from typing import Any, NamedTuple


class T(NamedTuple):
    """A tensor: dims as a GGUF file has them (fastest first), ggml's type number, and its bytes."""

    dims: tuple[int, ...]
    type_number: int = 0
    size: int | None = None


class Raw(NamedTuple):
    """A value of a stated type, for what Python's types do not say."""

    type_number: int
    data: bytes


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def value(it: Any) -> tuple[int, bytes]:
    """The type number and the bytes of a value, as a converter would choose them."""
    if isinstance(it, Raw):
        return it
    if isinstance(it, bool):
        return 7, struct.pack("<?", it)
    if isinstance(it, int):
        if it < 0:
            return 11, struct.pack("<q", it)
        return (4, struct.pack("<I", it)) if it < 2**32 else (10, struct.pack("<Q", it))
    if isinstance(it, float):
        return 12, struct.pack("<d", it)
    if isinstance(it, str):
        return 8, text(it)
    entries = [value(entry) for entry in it]
    kind = entries[0][0] if entries else 4
    return 9, struct.pack("<IQ", kind, len(entries)) + b"".join(data for _, data in entries)


def gguf(
    metadata: dict[str, Any], tensors: dict[str, T] | None = None, *, data: bool = True, alignment: int = 32
) -> bytes:
    """A whole file; without `data`, only what comes before the tensors' bytes."""
    tensors = tensors or {}
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    for key, it in metadata.items():
        kind, raw = value(it)
        head += text(key) + struct.pack("<I", kind) + raw
    offset = 0
    for name, tensor in tensors.items():
        head += text(name) + struct.pack("<I", len(tensor.dims))
        head += b"".join(struct.pack("<Q", n) for n in tensor.dims)
        head += struct.pack("<IQ", tensor.type_number, offset)
        offset += -(-(tensor.size if tensor.size is not None else 0) // alignment) * alignment
    head += bytes(-len(head) % alignment)
    return head + bytes(offset) if data else head


def write(path: Path, metadata: dict[str, Any], tensors: dict[str, T] | None = None) -> Path:
    path.write_bytes(gguf(metadata, tensors))
    return path


def of(arch: str, **keys: Any) -> dict[str, Any]:
    """Metadata of an architecture; `attention__head_count=8` is ARCH.attention.head_count."""
    found: dict[str, Any] = {"general.architecture": arch}
    return found | {f"{arch}.{key.replace('__', '.')}": it for key, it in keys.items() if it is not None}


def attention(
    layers: int, hidden: int, heads: Any, kv: Any = None, key: int | None = None, **more: Any
) -> dict[str, Any]:
    """The keys that nearly every file has."""
    return {
        "block_count": layers, "embedding_length": hidden, "context_length": 2**20 // 4,
        "attention__head_count": heads, "attention__head_count_kv": kv, "attention__key_length": key,
        "attention__value_length": key, **more,
    }  # fmt: skip
