"""A model that is split over several files: which part a file is, and the parts beside it.

`llama-gguf-split` names the parts NAME-00001-of-00003.gguf, writes `split.no` (from 0), `split.count` and
`split.tensors.count` into each, and all other metadata into the first part only.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memlessons.plan.gguf.errors import BadMetadata, MissingParts, ModelFileError
from memlessons.plan.gguf.header import GGUFHeader, read_header

_NAME = re.compile(r"^(.*)-(\d{5})-of-(\d{5})\.gguf$", re.DOTALL)
_MOST_PARTS = 4096


def part_of(header: GGUFHeader) -> tuple[int, int]:
    """The number of a part, from 0, and how many there are; (0, 1) for a model in one file."""
    number, count = (_whole(header.metadata, key) for key in ("split.no", "split.count"))
    if not count:
        return 0, 1
    if number >= count or count > _MOST_PARTS:
        raise BadMetadata(f"{header.path}: split.no={number} of split.count={count} cannot be")
    return number, count


def _whole(metadata: Mapping[str, Any], key: str) -> int:
    value = metadata.get(key, 0)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise BadMetadata(f"{key}={str(value)[:40]}: must be a whole number from 0")
    return value


def part_path(header: GGUFHeader, number: int) -> Path:
    """Where part `number` (from 0) should lie; MissingParts if the file's name does not say."""
    count = part_of(header)[1]
    match = _NAME.match(header.path.name)
    if match is None or int(match[3]) != count:
        raise MissingParts(
            f"{header.path} is part {part_of(header)[0] + 1} of {count} of a model, but is not named as "
            f"such: give the parts their names back, NAME-00001-of-{count:05}.gguf and so on"
        )
    return header.path.with_name(f"{match[1]}-{number + 1:05}-of-{count:05}.gguf")


def all_parts(header: GGUFHeader, *, arrays_up_to: int | None = 4096) -> tuple[GGUFHeader, ...]:
    """The headers of all parts of a model, read from beside this one; itself if it is whole.

    Raises MissingParts for a part that is not there, and BadMetadata where the parts do not fit together.
    """
    number, count = part_of(header)
    if count == 1:
        return (header,)
    parts = []
    for i in range(count):
        path = header.path if i == number else part_path(header, i)
        if not path.exists():
            raise MissingParts(
                f"{header.path} is part {number + 1} of {count} of a model, and {path.name} does not lie "
                "beside it: put all parts into one folder"
            )
        part = header if i == number else read_header(path, arrays_up_to=arrays_up_to)
        if part_of(part) != (i, count):
            raise BadMetadata(f"{path} calls itself part {part_of(part)}, its name says {(i, count)}")
        parts.append(part)
    _check_tensors(parts)
    return tuple(parts)


def _check_tensors(parts: list[GGUFHeader]) -> None:
    names = [name for part in parts for name in part.tensors]
    stated = _whole(parts[0].metadata, "split.tensors.count")
    if len(set(names)) != len(names) or (stated and stated != len(names)):
        raise BadMetadata(
            f"{parts[0].path}: the parts hold {len(names)} tensors, {len(set(names))} by name, but the model "
            f"has {stated}: these are parts of different models"
        )


def refuse_later_part(header: GGUFHeader) -> None:
    """Raise MissingParts for a part that is not the first: it holds no metadata of the model."""
    number, count = part_of(header)
    if number:
        try:
            first = part_path(header, 0).name
        except ModelFileError:
            first = "the first part"
        raise MissingParts(
            f"{header.path} is part {number + 1} of {count}: what the model is stands in {first}; open that"
        )
