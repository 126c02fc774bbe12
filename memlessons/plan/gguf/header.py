"""The header of a GGUF file: its metadata and where its tensors lie, read within bounds.

A length in a damaged file can ask for terabytes. Every count is checked against the bytes that are
really there before anything is read, and nothing but the standard library is needed. (The `gguf`
package's own reader trusts the file, and takes seconds for a vocabulary; the tests compare with it.)

Layout, format version 3: magic "GGUF", uint32 version, uint64 tensors, uint64 entries; the entries
(key, type, value); per tensor a name, its dims (fastest first), a type and an offset; padding to
`general.alignment`; the tensors' data. All numbers are little endian.
"""

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memlessons.plan.gguf.errors import NotAModel, TruncatedModel, UnsupportedModel

_VERSIONS = (2, 3)
# Type number -> struct code of the scalar types; 8 is a string, 9 an array.
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_MOST_DIMS = 4


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One tensor: shape with the slowest dim first (as torch counts), ggml's type number, first byte."""

    name: str
    shape: tuple[int, ...]
    type_number: int
    start: int


@dataclass(frozen=True, slots=True)
class LongArray:
    """What stands for an array of the metadata that was not read: ggml's type number and the length."""

    type_number: int
    length: int


@dataclass(frozen=True, slots=True)
class GGUFHeader:
    """What a GGUF file says before its data; `data_start` counts bytes from the file's start."""

    version: int
    metadata: dict[str, Any]
    tensors: dict[str, TensorInfo]
    data_start: int
    file_bytes: int
    path: Path


def read_header(path: Path, *, arrays_up_to: int | None = None) -> GGUFHeader:
    """Read the header of a GGUF file.

    With `arrays_up_to`, an array with more entries is checked against the file's end and stepped over; a
    `LongArray` stands for it. Whoever sizes a model has no use for a vocabulary of 250,000 words.

    Raises NotAModel (another kind of file, or a damaged one), TruncatedModel (it ends too early) or
    UnsupportedModel (a version or byte order we do not read).
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            if size < 4:
                raise NotAModel(f"{path} has {size} bytes: no GGUF file")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return _Reader(path, data, arrays_up_to).header()
    except OSError as error:
        raise NotAModel(f"{path} cannot be read as a file: {error.strerror or error}") from error


class _Reader:
    def __init__(self, path: Path, data: mmap.mmap, arrays_up_to: int | None = None) -> None:
        self.path, self.data, self.at = path, data, 0
        self.arrays_up_to = len(data) if arrays_up_to is None else arrays_up_to

    def header(self) -> GGUFHeader:
        if self.data[:4] != b"GGUF":
            raise NotAModel(f"{self.path} is no GGUF file: it begins with {self.data[:4]!r}, not b'GGUF'")
        self.at = 4
        version = self.scalar("I")
        if version not in _VERSIONS:
            order = "; big endian?" if version & 0xFFFF == 0 else ""
            raise UnsupportedModel(f"{self.path}: GGUF version {version}, read are {_VERSIONS}{order}")
        # The smallest tensor entry and the smallest metadata entry bound both counts.
        tensor_count, entry_count = self.count(8 + 4 + 8 + 4 + 8), self.count(8 + 4 + 1)
        metadata: dict[str, Any] = {}
        for _ in range(entry_count):
            key = self.string()
            if key in metadata:
                raise NotAModel(f"{self.path} is damaged: metadata key {key!r} appears twice")
            metadata[key] = self.value(self.scalar("I"))
        infos = [self.tensor() for _ in range(tensor_count)]
        alignment = metadata.get("general.alignment", 32)
        if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
            raise NotAModel(f"{self.path} is damaged: general.alignment={alignment!r} is no power of two")
        start = -(-self.at // alignment) * alignment
        tensors: dict[str, TensorInfo] = {}
        for name, shape, type_number, offset in infos:
            if name in tensors or offset % alignment:
                raise NotAModel(f"{self.path} is damaged: tensor {name!r} appears twice or is not aligned")
            tensors[name] = TensorInfo(name, shape, type_number, start + offset)
        return GGUFHeader(version, metadata, tensors, start, len(self.data), self.path)

    def take(self, size: int) -> int:
        """The place of the next `size` bytes, which are then behind us."""
        start, end = self.at, self.at + size
        if end > len(self.data):
            raise TruncatedModel(
                f"{self.path} ends at byte {len(self.data):,} inside its header, which asks for {size:,} "
                f"bytes at {start:,}: the file was cut short or is damaged"
            )
        self.at = end
        return start

    def scalar(self, code: str) -> Any:
        return struct.unpack_from("<" + code, self.data, self.take(struct.calcsize("<" + code)))[0]

    def count(self, least_bytes_each: int) -> int:
        """A count of things that each take at least so many of the bytes that follow."""
        count: int = self.scalar("Q")
        if count * least_bytes_each > len(self.data) - self.at:
            raise TruncatedModel(
                f"{self.path} announces {count:,} things at byte {self.at - 8:,} but has only "
                f"{len(self.data):,} bytes: it was cut short or is damaged"
            )
        return count

    def string(self) -> str:
        size: int = self.scalar("Q")
        start = self.take(size)
        try:
            return self.data[start : start + size].decode("utf-8")
        except UnicodeDecodeError:
            raise NotAModel(f"{self.path} is damaged: the text at byte {start:,} is not UTF-8") from None

    def strings(self) -> list[str] | LongArray:
        # The same as `string` repeated, without its calls: a vocabulary has a hundred thousand of them.
        data, end, length = self.data, len(self.data), struct.Struct("<Q").unpack_from
        count = self.count(8)
        kept: list[bytes] | None = [] if count <= self.arrays_up_to else None
        at = self.at
        for _ in range(count):
            start = at + 8
            if start > end:
                self.take(8)
            stop = start + length(data, at)[0]
            if stop > end:
                self.at = at
                self.take(stop - at)
            if kept is not None:
                kept.append(data[start:stop])
            self.at = at = stop
        if kept is None:
            return LongArray(_STRING, count)
        try:
            return [text.decode("utf-8") for text in kept]
        except UnicodeDecodeError as error:
            raise NotAModel(
                f"{self.path} is damaged: {error.object!r} in a list of texts is not UTF-8"
            ) from None

    def value(self, type_number: int) -> Any:
        if type_number == _STRING:
            return self.string()
        if type_number == _ARRAY:
            return self.array()
        return self.scalar(self.code(type_number))

    def array(self) -> list[Any] | LongArray:
        type_number = self.scalar("I")
        if type_number == _STRING:
            return self.strings()
        if type_number == _ARRAY:
            raise UnsupportedModel(f"{self.path}: an array of arrays in the metadata, which we do not read")
        code = self.code(type_number)
        count = self.count(struct.calcsize("<" + code))
        start = self.take(count * struct.calcsize("<" + code))
        if count > self.arrays_up_to:
            return LongArray(type_number, count)
        return list(struct.unpack_from(f"<{count}{code}", self.data, start))

    def code(self, type_number: int) -> str:
        if type_number not in _SCALARS:
            raise NotAModel(f"{self.path} is damaged: value type {type_number} at byte {self.at - 4:,}")
        return _SCALARS[type_number]

    def tensor(self) -> tuple[str, tuple[int, ...], int, int]:
        name, dims = self.string(), self.scalar("I")
        if dims > _MOST_DIMS:
            raise NotAModel(
                f"{self.path} is damaged: tensor {name!r} has {dims} dims, at most {_MOST_DIMS} exist"
            )
        shape = tuple(self.scalar("Q") for _ in range(dims))
        return name, shape[::-1], self.scalar("I"), self.scalar("Q")
