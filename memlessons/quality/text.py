"""Text on every reader's machine: Python's own documentation."""

from typing import Protocol

import torch
from torch import Tensor

from memlessons.errors import MemlessonsError
from memlessons.places import pace

LEDGER_PAGE, LEDGER_TOKENS = "import", {"full": 1024, "quick": 128}


class _Encodes(Protocol):
    def encode(self, text: str) -> list[int]: ...


class NoSuchPage(MemlessonsError, KeyError):
    """Python's documentation has no topic of that name."""

    def __str__(self) -> str:
        return str(self.args[0])


def page_of(topic: str) -> str:
    """The page of Python's documentation on a topic such as "import", in English (`pydoc_data.topics`)."""
    from pydoc_data.topics import topics

    if topic not in topics:
        raise NoSuchPage(f"no topic {topic!r}; some are {', '.join(sorted(topics)[:8])} ...")
    return str(topics[topic])


def ledger_tokens(tokenizer: _Encodes) -> Tensor:
    """The text of the scoreboard's perplexity, int64 `[T]`, one for all designs; short at the quick pace."""
    return torch.tensor(tokenizer.encode(page_of(LEDGER_PAGE))[: LEDGER_TOKENS[pace()]])
