"""Text on every reader's machine: Python's own documentation."""

from memlessons.errors import MemlessonsError


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
