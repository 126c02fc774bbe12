"""`memlessons size`: how much memory a model takes, on which card, with which engine, and how fast."""

import argparse
import json
import sys
from collections.abc import Callable

from memlessons.cost import Accelerator, Lengths, accelerators, get
from memlessons.plan import presets
from memlessons.sizing.question import BadQuestion, Question, count, length, size

_ENDLESS_LENGTH = 2**40
_CONTEXT = 4096


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `memlessons size`."""
    add = parser.add_argument
    add(
        "model",
        nargs="*",
        metavar="MODEL",
        help="a preset's name, a config.json, a folder with one, a .gguf file, or hf:owner/name",
    )
    add(
        "--context",
        metavar="N",
        help="tokens of a sequence, as 128k (k is 1,024); unless said 4,096, or less if the model reads less",
    )
    add("--batch", metavar="N", default="1", help="sequences at once")
    add("--lengths", metavar="P50,P95", help="how lengths vary: median and 95th percentile, as 2k,32k")
    add("--kv", metavar="FORMAT", default="bf16", help="format of K and V, or K/V, as q8_0 or q8_0/f16")
    add("--gpu", metavar="NAME", help='a card, as "RTX 4090" (--list shows all)')
    add("--tp", metavar="N", default="1", help="devices that share the model (tensor parallelism)")
    add("--engine", metavar="NAME", default="ideal", help="whose reservation counts for what fits")
    add("--reserve", metavar="SIZE", help="of each device for other things, as 1.5GiB")
    add("--visible", metavar="SIZE", help="what programs see of a device, as 23.5GiB")
    add("--weights", metavar="SIZE", help="bytes of the weights, as 4.9GB")
    add("--params", metavar="N", help="parameters, as 8B")
    add("--encoder", metavar="N", help="tokens an encoder reads")
    add("--draft", action="store_true", help="count the layers of a draft head too")
    add(
        "--why",
        action="store_true",
        help="show each rule that fired and what would be said without it, or that nothing could be",
    )
    add("--json", action="store_true", help="print the answer as JSON")
    add("--compare", action="store_true", help="several models, a row each")
    add("--export", metavar="ENGINE", help="print the flags with which vllm, sglang or llama.cpp serves this")
    add("--check", metavar="FILE", help="check rows of published figures (JSON lines)")
    add("--log", metavar="FILE", help="hold what an engine's log says against the prediction")
    add("--server", metavar="URL", help="hold what a server's metrics say against the prediction")
    add("--list", action="store_true", help="list the models and cards that are known by name")  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Answer; 0, or 1 where a checked row is off."""
    if options.list:
        return _list()
    if options.check is not None:
        return _check(options.check)
    card = None if options.gpu is None else get(options.gpu)
    if options.log is not None or options.server is not None:
        return _observed(options, card)
    if not options.model:
        raise BadQuestion(
            "name a model, as `memlessons size llama-3.1-8b`; `memlessons size --list` shows names"
        )
    if options.compare or len(options.model) > 1:
        return _compare(options, card)
    question = _question(options, options.model[0], card)
    if options.export:
        from memlessons.sizing.export import flags, warnings

        print(flags(question, options.export))
        # Beside the command, so that what is piped on is the command alone.
        for warning in warnings(question, options.export):
            print(f"note: {warning}", file=sys.stderr)
        return 0
    from memlessons.sizing.answer import answer

    found = answer(question)
    if options.json:
        from memlessons.sizing.plain import plain

        print(json.dumps(plain(found), indent=1))
        return 0
    from memlessons.sizing.table import table

    print(table(found))
    if options.why:
        from memlessons.sizing.why import why

        print("\n" + why(found))
    return 0


def _question(options: argparse.Namespace, name: str, card: Accelerator | None) -> Question:
    from memlessons.sizing.models import resolve

    model = resolve(name, draft=options.draft)
    model = model.with_weights(_given(size, options.weights), _given(count, options.params))
    return Question(
        model,
        context=_given(length, options.context) or min(_CONTEXT, model.longest_context or _CONTEXT),
        batch=_number("--batch", options.batch),
        kv_dtype=options.kv,
        card=card,
        tp=_number("--tp", options.tp),
        engine=options.engine,
        reserve_bytes=_given(size, options.reserve) or 0,
        visible_bytes=_given(size, options.visible),
        encoder_tokens=_given(length, options.encoder),
        lengths=_lengths(options.lengths, model.longest_context),
        draft=options.draft,
    )


def _number(name: str, text: str) -> int:
    """A plain whole number; a thousand sequences are written out."""
    digits = text.strip().replace(",", "").replace("_", "")
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > 20 or int(digits) < 1:
        raise BadQuestion(f"{name} {text[:40]!r}: must be a whole number, 1 or more")
    return int(digits)


def _given(read: Callable[[str], int], text: str | None) -> int | None:
    return None if text is None else read(text)


def _lengths(text: str | None, longest: int | None) -> Lengths | None:
    if text is None:
        return None
    # Commas part the two numbers, so neither may have one of its own.
    parts = text.split(",")
    if len(parts) != 2:
        raise BadQuestion(f"--lengths {text[:40]!r}: give the median and the 95th percentile, as 2k,32k")
    p50, p95 = (length(part.rpartition("=")[2]) for part in parts)
    return Lengths(p50, p95, max(longest or _ENDLESS_LENGTH, p95))


def _compare(options: argparse.Namespace, card: Accelerator | None) -> int:
    from memlessons.sizing.answer import answer
    from memlessons.sizing.compare import compare
    from memlessons.sizing.plain import plain

    answers = [answer(_question(options, name, card)) for name in options.model]
    print(json.dumps([plain(a) for a in answers], indent=1) if options.json else compare(answers))
    return 0


def _check(path: str) -> int:
    from memlessons.plan.truths import check, read_rows

    within = rows = 0
    for row in read_rows(path):
        checked = check(row)
        print(checked.line())
        rows += 1
        within += checked.ok
    if not rows:
        raise BadQuestion(f"{path}: no rows in this file")
    print(f"{within} of {rows} rows within tolerance")
    return 0 if within == rows else 1


def _observed(options: argparse.Namespace, card: Accelerator | None) -> int:
    from memlessons.sizing.observed import observed

    model = options.model[0] if options.model else None
    question = None if model is None else _question(options, model, card)
    print(observed(options.log, options.server, question))
    return 0


def _list() -> int:
    print("models:")
    for name in presets.names():
        print(f"  {name}")
    print("cards:")
    for card in accelerators():
        print(f"  {card}")
    return 0
