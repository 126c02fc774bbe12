"""Messages to a prompt: the template that a model brings along, rendered where it can do no harm.

A chat template is a program from a file that somebody made. It runs in jinja2's sandbox (no attributes
of Python's machinery, no changes to what it is given), with bounds on its loops and on what it writes.
The sandbox bounds neither time nor memory of every expression: a template that doubles a text again and
again can still fill a process. Load models from people you trust.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memlessons.errors import MemlessonsError
from memlessons.model.tokenizer import Tokenizer

Message = Mapping[str, str]

_MOST_CHARACTERS = 4_000_000
_MOST_STEPS = 100_000


class TemplateError(MemlessonsError, ValueError):
    """A template that cannot be rendered, or messages it does not take; says which and why."""


class ChatTemplate:
    """A model's chat template.

    `variables` are further names it may use, such as `bos_token`. The source is compiled once.
    """

    def __init__(self, source: str, variables: Mapping[str, Any] | None = None) -> None:
        self.source = source
        self._variables = dict(variables or {})
        try:
            self._template = _environment().from_string(source)
        except Exception as error:  # jinja's parser lets RecursionError and others through
            raise TemplateError(f"the chat template is not valid jinja: {_short(error)}") from error

    @classmethod
    def from_gguf_metadata(cls, metadata: Mapping[str, Any]) -> "ChatTemplate":
        """The chat template that a GGUF file holds; TemplateError if it has none."""
        source = metadata.get("tokenizer.chat_template")
        if not isinstance(source, str):
            raise TemplateError("tokenizer.chat_template: missing, so this model is not one to chat with")
        tokens = metadata.get("tokenizer.ggml.tokens", ())
        stated = {name: metadata.get(f"tokenizer.ggml.{name}_token_id") for name in ("bos", "eos")}
        return cls(
            source,
            {f"{n}_token": tokens[i] for n, i in stated.items() if isinstance(i, int) and i < len(tokens)},
        )

    def render(self, messages: Sequence[Message], *, add_generation_prompt: bool = True) -> str:
        """The prompt for these messages, each with a `role` and a `content`.

        With `add_generation_prompt` it ends where the assistant's answer begins. Raises TemplateError.
        """
        _check(messages)
        steps = _Steps()
        names = {
            **self._variables,
            "messages": [dict(message) for message in messages],
            "add_generation_prompt": add_generation_prompt,
            "range": steps.range,
        }
        written: list[str] = []
        size = 0
        try:
            for part in self._template.generate(names):
                size += len(part)
                if size > _MOST_CHARACTERS:
                    raise TemplateError(f"the chat template writes more than {_MOST_CHARACTERS:,} characters")
                written.append(part)
        except TemplateError:
            raise
        except Exception as error:  # a template can raise anything its expressions can
            raise TemplateError(f"the chat template failed: {_short(error)}") from error
        return "".join(written)

    def encode(
        self, messages: Sequence[Message], tokenizer: Tokenizer, *, add_generation_prompt: bool = True
    ) -> list[int]:
        """Token ids of the prompt: control tokens of the template are tokens, those in a content are text."""
        _check(messages)
        shielded = [{**message, "content": tokenizer.shield(message["content"])} for message in messages]
        prompt = self.render(shielded, add_generation_prompt=add_generation_prompt)
        return tokenizer.encode(prompt, special=True)


class _Steps:
    """jinja's loops run over `range` or over what they are given: bound the steps of all ranges together."""

    def __init__(self) -> None:
        self.left = _MOST_STEPS

    def range(self, *bounds: int) -> Iterator[int]:
        for i in range(*bounds):
            self.left -= 1
            if self.left < 0:
                raise TemplateError(f"the chat template loops more than {_MOST_STEPS:,} times")
            yield i


def _environment() -> Any:
    from jinja2.exceptions import SecurityError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Environment(ImmutableSandboxedEnvironment):
        intercepted_binops = frozenset(("*", "**", "%"))

        def unsafe_undefined(self, obj: Any, attribute: str) -> Any:
            # jinja would write nothing and go on; who asks for such an attribute is not to be trusted.
            raise SecurityError(f"a chat template may not read the attribute {attribute!r}")

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            # `"x" * 10**9`, `9 ** 9 ** 9` and `"%999999999d" % 1` take all memory in one expression.
            if operator == "**" or (operator == "%" and isinstance(left, str)):
                raise SecurityError(f"the operator {operator} is not allowed in a chat template")
            if operator == "*" and not (_is_number(left) and _is_number(right)):
                raise SecurityError("a chat template may multiply numbers only")
            return super().call_binop(context, operator, left, right)

        def call(self, context: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
            # The widths of ljust, center, zfill, format and the like.
            if any(_is_number(a) and a > _MOST_STEPS for a in (*args, *kwargs.values())) or (
                getattr(function, "__name__", "") in ("format", "format_map")
            ):
                raise SecurityError(
                    f"call of {getattr(function, '__name__', 'a function')} with these arguments"
                )
            return super().call(context, function, *args, **kwargs)

    # As transformers renders them: block tags take their newline along, break and continue are known.
    environment = Environment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
    environment.globals.pop("lipsum")
    for name in ("center", "format", "indent", "wordwrap", "batch", "slice"):
        environment.filters.pop(name)
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _raise
    environment.globals["strftime_now"] = _now
    return environment


def _check(messages: Sequence[Message]) -> None:
    if isinstance(messages, str | Mapping) or not messages:
        raise TemplateError("messages: give a list of at least one {'role': ..., 'content': ...}")
    for i, message in enumerate(messages):
        for key in ("role", "content"):
            if not isinstance(message, Mapping) or not isinstance(message.get(key), str):
                raise TemplateError(f"messages[{i}] has no text under {key!r}: {message!r:.80}")


def _to_json(value: Any, indent: int | None = None) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, indent=indent)


def _raise(message: str) -> None:
    raise TemplateError(f"the chat template refuses these messages: {message}")


def _now(format: str) -> str:
    from datetime import datetime

    return datetime.now().strftime(format)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:200]}"
