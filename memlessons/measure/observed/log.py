"""Reading an engine's log: what vLLM, llama.cpp, SGLang or whisper.cpp said of its own memory."""

import re
from contextlib import nullcontext
from dataclasses import replace
from types import ModuleType
from typing import IO

from memlessons.measure.observed import llama_cpp, sglang, vllm, whisper_cpp
from memlessons.measure.observed.lines import Source, open_log, telling_lines
from memlessons.measure.observed.reported import NothingSaid, Reported, Said
from memlessons.measure.observed.sentences import listen

_ENGINES: dict[str, ModuleType] = {
    "vllm": vllm, "llama.cpp": llama_cpp, "sglang": sglang, "whisper.cpp": whisper_cpp,
}  # fmt: skip
# A log that repeats itself for weeks says nothing new; memory stays bounded.
_MOST_SAID = 10_000


def read_log(path_or_text: Source) -> Reported:
    """What an engine said of its memory in a log: a file's path, the text itself, or a stream of bytes.

    Reads line by line: a log of gigabytes, lines without end, binary junk, colours and UTF-16 are all
    right. Where several engines speak, the one that says most is reported and a note names the others.
    NothingSaid if none does, LogUnreadable if there is no such file. A path must be a file's: of a pipe or a
    device, give the stream.
    """
    stream, name = open_log(path_or_text)
    # A stream that was given stays open: whoever opened it closes it.
    with nullcontext(stream) if stream is path_or_text else stream:
        heard = _heard(stream)
    telling = {
        engine: sum(said.quantity in _ENGINES[engine].TELLING for said in lines)
        for engine, lines in heard.items()
    }
    engine = max(telling, key=telling.__getitem__)
    if not telling[engine]:
        looked = "; ".join(f"{name}: {module.LOOKED_FOR}" for name, module in _ENGINES.items())
        raise NothingSaid(
            f"{name}: no engine speaks of its cache here. Looked for were the lines of {looked}. Is the "
            "log complete, and at the level INFO?"
        )
    reported: Reported = _ENGINES[engine].gather(heard[engine])
    others = [other for other, count in telling.items() if count and other != engine]
    if others:
        note = f"{' and '.join(others)} can be heard in this log too: only {engine} is reported"
        return replace(reported, notes=(*reported.notes, note))
    return reported


def _heard(stream: IO[bytes]) -> dict[str, list[Said]]:
    heard: dict[str, list[Said]] = {engine: [] for engine in _ENGINES}
    words = {engine: [s.word for s in module.SENTENCES] for engine, module in _ENGINES.items()}
    all_words = sorted({word.encode() for of in words.values() for word in of})
    for number, line in telling_lines(stream, all_words):
        for engine, module in _ENGINES.items():
            said = heard[engine]
            if len(said) >= _MOST_SAID or not any(word in line for word in words[engine]):
                continue
            found = list(listen(module.SENTENCES, line, number))
            rank = module.RANK and re.search(module.RANK, line)
            if found and rank:
                found.append(Said("rank", int(rank["rank_n"]), "", number, found[0].text))
            said += found
    return heard
