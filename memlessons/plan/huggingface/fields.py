"""The fields of a configuration, read by name with their types and bounds checked.

A published config.json is somebody else's file: numbers may be strings, lists may be short, objects may
hold themselves. Every read here returns a value of the asked type within its bounds, or None where the
field is absent or null, or raises `BadConfig` with the field's name.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from memlessons.plan.huggingface.errors import BadConfig

MOST_LAYERS = 2048
MOST = 2**24
"""No width, count of heads or vocabulary that was ever published comes near it."""
LONGEST = 2**40


@dataclass(frozen=True)
class Fields:
    """One configuration as the rules see it: the innermost object first, then those around it.

    `levels` are the objects in order of precedence; a key that is present, even as null, hides those
    behind it. `defaults` are what the class of a *nested* configuration fills in, because a published
    file leaves out of it what equals them. `layer` and `kind` are set where rules ask about one layer:
    a list with one entry a layer then counts as its entry. `without` names rules to leave out.
    """

    levels: tuple[Mapping[str, Any], ...]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    model_type: str = ""
    without: frozenset[str] = frozenset()
    layers: int | None = None
    layer: int | None = None
    kind: str = ""

    def at(self, layer: int, kind: str, overlay: Mapping[str, Any] | None = None) -> "Fields":
        """The same configuration as one layer sees it, `overlay` before all else."""
        levels = (overlay, *self.levels) if overlay else self.levels
        return replace(self, levels=levels, layer=layer, kind=kind)

    def overlays(self) -> dict[int, Mapping[str, Any]]:
        """`per_layer_config` of recent configurations: fields that differ in single layers, by layer."""
        found = self.inner("per_layer_config")
        by_layer: dict[int, Mapping[str, Any]] = {}
        for key, value in (found.levels[0] if found else {}).items():
            if not isinstance(value, Mapping) or not str(key).isdecimal() or len(str(key)) > 6:
                raise BadConfig(
                    f"per_layer_config[{str(key)[:20]!r}]: must be an object named by a layer's number"
                )
            by_layer[int(key)] = value
        return by_layer

    def raw(self, name: str) -> Any:
        """The value of a field as it stands, None if absent; a default of the class counts as present."""
        for level in self.levels:
            if name in level:
                return self._of_layer(name, level[name])
        return self.defaults.get(name)

    def has(self, name: str) -> bool:
        """Whether a field is there, be it null."""
        return any(name in level for level in self.levels) or name in self.defaults

    def is_null(self, *names: str) -> bool:
        """Whether the first of these fields that is there is null."""
        for name in names:
            if self.has(name):
                return self.raw(name) is None
        return False

    def _of_layer(self, name: str, value: Any) -> Any:
        per_layer = isinstance(value, list) and self.layer is not None and len(value) == self.layers
        return value[self.layer] if per_layer and self.layer is not None else value

    def whole(self, *names: str, least: int = 1, most: int = MOST) -> int | None:
        """The first of these fields that is there and not null, as a whole number within bounds."""
        for name in names:
            value = self.raw(name)
            if value is None:
                continue
            if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
                value = int(value)
            if isinstance(value, bool) or not isinstance(value, int):
                raise BadConfig(f"{name}={short(value)}: must be a whole number")
            if not least <= value <= most:
                raise BadConfig(f"{name}={short(value)}: must be from {least:,} to {most:,}")
            return value
        return None

    def fraction(self, name: str) -> float | None:
        """A field as a number above 0 and at most 64, such as a factor of widths; None if absent or null."""
        value = self.raw(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 64:
            raise BadConfig(f"{name}={short(value)}: must be a number above 0 and at most 64")
        return float(value)

    def flag(self, *names: str) -> bool | None:
        """The first of these fields that is there and not null, as true or false."""
        for name in names:
            value = self.raw(name)
            if value is None:
                continue
            if value not in (True, False) or not isinstance(value, bool | int):
                raise BadConfig(f"{name}={short(value)}: must be true or false")
            return bool(value)
        return None

    def text(self, *names: str) -> str | None:
        """The first of these fields that is there and not null, as text."""
        for name in names:
            value = self.raw(name)
            if value is None:
                continue
            if not isinstance(value, str) or len(value) > 10_000:
                raise BadConfig(f"{name}={short(value)}: must be a short text")
            return value
        return None

    def items(self, name: str) -> list[Any] | None:
        """A field that is a list, None if absent; at most MOST_LAYERS long."""
        value = next((level[name] for level in self.levels if name in level), self.defaults.get(name))
        if value is None:
            return None
        if not isinstance(value, list):
            raise BadConfig(f"{name}={short(value)}: must be a list")
        if len(value) > MOST_LAYERS:
            raise BadConfig(
                f"{name} has {len(value):,} entries: no model has more than {MOST_LAYERS:,} layers"
            )
        return value

    def numbers(self, name: str, *, below: int) -> list[int] | None:
        """A list of whole numbers from 0 to `below` - 1, such as the layers that attend."""
        found = self.items(name)
        for value in found or ():
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < below:
                raise BadConfig(f"{name} holds {short(value)}: must be whole numbers from 0 to {below - 1}")
        return found

    def one_a_layer(self, name: str) -> list[Any] | None:
        """A list with an entry for each layer; a list of another length contradicts the layer count."""
        found = self.items(name)
        if found is not None and self.layers is not None and len(found) != self.layers:
            raise BadConfig(f"{name} has {len(found)} entries, but the model {self.layers} layers")
        return found

    def inner(self, name: str) -> "Fields | None":
        """An object inside this one as fields of its own, nothing of what is around it; None if absent."""
        value = self.raw(name)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise BadConfig(f"{name}={short(value)}: must be an object")
        return replace(self, levels=(value,), defaults={})

    def need(self, *names: str, least: int = 1, most: int = MOST, why: str) -> int:
        """Like `whole`, and an error if none of the fields is there; `why` says which rule asks."""
        value = self.whole(*names, least=least, most=most)
        if value is None:
            raise BadConfig(f"{' or '.join(names)} is missing: {why}")
        return value


def short(value: Any) -> str:
    """A value for a message, whatever its size: a hostile number has more digits than Python prints."""
    if isinstance(value, int) and abs(value) >= 10**18:
        return f"about 2^{value.bit_length()}"
    if isinstance(value, str):
        return repr(value[:40]) + ("..." if len(value) > 40 else "")
    if isinstance(value, list | Mapping):
        return f"a {'list' if isinstance(value, list) else 'object'} of {len(value)}"
    return repr(value)
