"""Where a model's description comes from: a preset, a config.json, a GGUF's header, a plan, or the hub."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from memlessons.errors import MemlessonsError
from memlessons.plan import MemoryPlan, Weights, presets
from memlessons.plan.huggingface import BadConfig, UnknownArchitecture, load_config, read_huggingface


class NoSuchModel(MemlessonsError, ValueError):
    """A name that is no preset, no file and no repository that can be read."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model as far as sizing goes.

    `weights` and `longest_context` are None where they are not known: nothing that needs them is then
    computed; `weightless` then says why. `encoder_tokens` is how much an encoder reads at most. `config` is
    the configuration, if there was one (`mark` stands for it where models are compared), `rules` those that
    fired, `source` says where all of it is from, and `place` is the checkpoint's own, where there is one.
    `kv_dtype` is the format of keys and values that the checkpoint asks engines for.
    """

    name: str
    plan: MemoryPlan
    weights: Weights | None
    longest_context: int | None
    source: str
    encoder_tokens: int | None = None
    config: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)
    rules: tuple[tuple[str, str], ...] = ()
    weightless: str = ""
    mark: int = 0
    place: str = ""
    kv_dtype: str | None = None

    def with_weights(self, stored_bytes: int | None, parameters: int | None) -> "Model":
        """The same model with weights as given: bytes, parameters, or both.

        Parameters without bytes take 2 each. Bytes without parameters are of as many as by rule; where no
        rule knows them, of one for 2 bytes, which the source then says.
        """
        if stored_bytes is None and parameters is None:
            return self
        known = self.weights
        if parameters is None:
            parameters = known.parameters if known else max(1, (stored_bytes or 2) // 2)
        share = known.active_parameters / known.parameters if known else 1.0
        stored = 2 * parameters if stored_bytes is None else stored_bytes
        active = min(parameters, max(1, round(parameters * share)))
        bytes_only = known is None and stored_bytes is not None and parameters == max(1, stored_bytes // 2)
        guessed = "given; parameters taken as 2 bytes each" if bytes_only else "given"
        woken = known.expert_share if known else None
        return replace(self, weights=Weights(stored, parameters, active, guessed, expert_share=woken))


def resolve(name: str, *, draft: bool = False) -> Model:
    """The model of that name.

    A preset's name; the path of a config.json, of a checkpoint's folder, of a GGUF file or of a plan's JSON;
    `hf:owner/name` for a repository. `draft` counts a draft head. Raises NoSuchModel, UnknownArchitecture,
    or an error of the file's kind.
    """
    text = str(name).strip()
    if text.startswith("hf:"):
        return _of_repository(text[3:], draft)
    path = Path(text).expanduser()
    try:
        found = path.exists()
    except (OSError, ValueError):
        found = False
    if text and found and not (text.lower() in presets.names() and path.is_dir()):
        return _of_file(path, draft)
    if text.endswith((".json", ".gguf")) or "/" in text or "\\" in text:
        raise NoSuchModel(f"{text[:200]!r}: there is no such file")
    return _of_preset(text, draft)


def _of_preset(name: str, draft: bool) -> Model:
    preset = presets.get(name)
    if not draft:
        rules = _rules(preset.config) if preset.config else ()
        encoder = _encoder_tokens(preset.config)
        return Model(
            preset.name, preset.plan, preset.weights, preset.longest_context, preset.source, encoder,
            preset.config, rules, mark=hash(repr(preset.config)),
        )  # fmt: skip
    if not preset.config:
        raise UnknownArchitecture(f"{preset.name}: its preset says nothing of a draft head")
    model = of_config(preset.config, preset.name, preset.source, draft=True)
    return model if model.weights is not None else replace(model, weights=preset.weights)


def _of_file(path: Path, draft: bool) -> Model:
    if path.is_dir():
        return _of_folder(path, draft)
    if path.suffix == ".gguf":
        return _of_gguf(path, draft)
    config = load_config(path)
    if config.get("form") == "memlessons.plan/1":
        plan = MemoryPlan.from_json(json.dumps(config))
        return Model(path.stem, plan, None, None, f"the plan in {path.name}")
    model = of_config(config, _title(path), f"the configuration {path.name}", draft=draft)
    return replace(model, place=str(path.parent) if path.stem == "config" else "")


def of_text(text: str) -> Model:
    """The model of a configuration's text, such as a pasted config.json, or of a plan's JSON.

    Raises BadConfig for what is neither, UnknownArchitecture, or InvalidPlan.
    """
    # Anything else would be taken for a path.
    if text.lstrip("\ufeff \t\r\n")[:1] != "{":
        raise BadConfig("this is no configuration: the text of a config.json begins with a curly bracket")
    config = load_config(text.lstrip("\ufeff \t\r\n"))
    if config.get("form") == "memlessons.plan/1":
        return Model("your plan", MemoryPlan.from_json(text), None, None, "the plan that was given")
    said = config.get("_name_or_path") or config.get("model_type")
    name = said.rstrip("/").rpartition("/")[2][:60] if isinstance(said, str) else ""
    return of_config(config, name or "your model", "the configuration that was given")


def _title(path: Path) -> str:
    return path.resolve().parent.name if path.stem == "config" else path.stem


def _of_folder(path: Path, draft: bool) -> Model:
    model = of_config(load_config(path), path.resolve().name, f"{path.name}/config.json", draft=draft)
    model = replace(model, place=str(path))
    index = path / "model.safetensors.index.json"
    if not index.is_file():
        return model
    total = load_config(index).get("metadata")
    stored = total.get("total_size") if isinstance(total, Mapping) else None
    if isinstance(stored, bool) or not isinstance(stored, int) or stored < 1:
        return model
    return model.with_weights(stored, None)


def _of_gguf(path: Path, draft: bool) -> Model:
    from memlessons.plan.gguf import as_config, read_header, weights_of

    header = read_header(path, arrays_up_to=4096)
    model = of_config(as_config(header), path.stem, f"the header of {path.name}", draft=draft, weigh=False)
    return replace(model, weights=weights_of(header), place=str(path))


def _of_repository(repository: str, draft: bool) -> Model:
    try:
        import huggingface_hub
    except ImportError:
        raise NoSuchModel("hf: needs the package huggingface_hub; or give a config.json's path") from None
    try:
        path = huggingface_hub.hf_hub_download(repository, "config.json", etag_timeout=10)
    except Exception as error:  # the hub's client lets whatever its HTTP library raises through
        raise NoSuchModel(
            f"hf:{repository[:100]}: its configuration could not be had ({str(error)[:120].strip()}); "
            "download its config.json and give the path"
        ) from None
    config = load_config(path)
    name = repository.rpartition("/")[2]
    model = of_config(config, name, f"config.json of {repository}", draft=draft)
    return replace(model, place=repository)


def of_config(
    config: Mapping[str, Any], name: str, source: str, *, draft: bool = False, weigh: bool = True
) -> Model:
    """A model from a configuration; its weights by rule, where a rule knows its type."""
    reading = read_huggingface(config, draft=draft)
    rules = tuple((rule.name, rule.source) for rule in reading.rules)
    weights, weightless = _weights(config, draft) if weigh else (None, "")
    return Model(
        name, reading.plan, weights, reading.longest_context, source, _encoder_tokens(config), config, rules,
        weightless, hash(repr(config)), kv_dtype=reading.kv_dtype,
    )  # fmt: skip


def _weights(config: Mapping[str, Any], draft: bool) -> tuple[Weights | None, str]:
    """The weights by rule, or why there are none."""
    from memlessons.plan.huggingface.weights import weights_of, why_not

    try:
        found = weights_of(config, draft=draft)
    except UnknownArchitecture as error:
        return None, str(error)
    return found, "" if found is not None else why_not(config) or "no rule knows this architecture's"


def _rules(config: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((rule.name, rule.source) for rule in read_huggingface(config).rules)


def _encoder_tokens(config: Mapping[str, Any] | None) -> int | None:
    value = (config or {}).get("max_source_positions")
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


__all__ = ["BadConfig", "Model", "NoSuchModel", "of_config", "of_text", "resolve"]
