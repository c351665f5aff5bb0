"""Reading a configuration: text or plain data in, a complete and valid configuration out, or all that is wrong."""

from collections.abc import Callable, Collection, Iterable
from typing import Any

import msgspec

from stowplan.config.args import ARGS
from stowplan.config.defaults import complete
from stowplan.config.errors import FieldError, InvalidConfiguration, Problems
from stowplan.config.strict import decode, decode_walking, type_name
from stowplan.config.text import parse
from stowplan.config.types import API_VERSION, KIND, KubeSchedulerConfiguration, PluginConfig, Profile
from stowplan.config.validation import check_plugin_names, validate

Decoder = Callable[[dict[str, Any], Problems], KubeSchedulerConfiguration]


def load(
    text: str | bytes, source: str = "config.yaml", known_plugins: Collection[str] | None = None
) -> KubeSchedulerConfiguration:
    """Read JSON or YAML. `source` opens each line of the error; `known_plugins` None lets any plugin name pass."""
    value, repeated = parse(text, source)
    return _build(value, source, known_plugins, repeated)


def from_builtins(
    value: object, source: str = "config", known_plugins: Collection[str] | None = None
) -> KubeSchedulerConfiguration:
    """The same from plain data, as a JSON parser makes it."""
    if not isinstance(value, dict):
        raise InvalidConfiguration(source, [FieldError("", f"expected an object, got {type_name(value)}")])
    return _build(value, source, known_plugins, ())


def _build(
    value: dict[str, Any], source: str, known_plugins: Collection[str] | None, faults: Iterable[FieldError]
) -> KubeSchedulerConfiguration:
    structure, rules = Problems(faults), Problems()
    written = _decoder(value, source)(value, structure)
    check_plugin_names(written, known_plugins, rules)
    config = complete(written)
    validate(config, rules)
    # A field that did not decode was checked with its default instead; what the rules say of it is no news.
    news = [error for error in rules.errors if not any(error.touches(fault) for fault in structure.errors)]
    if errors := structure.errors + news:
        raise InvalidConfiguration(source, errors)
    return config


def _decoder(value: dict[str, Any], source: str) -> Decoder:
    kind, version = value.get("kind"), value.get("apiVersion")
    if kind == KIND and isinstance(version, str) and version in _DECODERS:
        return _DECODERS[version]
    field, given, only = ("kind", kind, KIND) if kind != KIND else ("apiVersion", version, " or ".join(_DECODERS))
    problems = Problems()
    if given is None:
        problems.required(f"$.{field}", f"must be {only}")
    else:
        problems.invalid(f"$.{field}", given, f"must be {only}")
    raise InvalidConfiguration(source, problems.errors)


def _decode_v1(value: dict[str, Any], problems: Problems) -> KubeSchedulerConfiguration:
    body = {key: item for key, item in value.items() if key not in ("apiVersion", "kind")}
    config = decode(body, KubeSchedulerConfiguration, "$", problems)
    profiles = tuple(
        _decode_args(profile, f"$.profiles[{index}]", problems) for index, profile in enumerate(config.profiles)
    )
    return msgspec.structs.replace(config, profiles=profiles)


def _decode_args(profile: Profile, path: str, problems: Problems) -> Profile:
    configs = tuple(
        _decode_plugin_config(config, f"{path}.pluginConfig[{index}].args", problems)
        for index, config in enumerate(profile.plugin_config)
    )
    return msgspec.structs.replace(profile, plugin_config=configs)


def _decode_plugin_config(config: PluginConfig, path: str, problems: Problems) -> PluginConfig:
    if config.name not in ARGS:
        return config
    args = {} if config.args is None else config.args
    if isinstance(args, dict):
        expected = {"apiVersion": API_VERSION, "kind": f"{config.name}Args"}
        for field, only in expected.items():
            if args.get(field) not in (None, "", only):
                problems.invalid(f"{path}.{field}", args[field], f"must be {only}")
        args = {key: item for key, item in args.items() if key not in expected}
    return PluginConfig(name=config.name, args=decode_walking(args, ARGS[config.name], path, problems))


_DECODERS: dict[str, Decoder] = {API_VERSION: _decode_v1}
"""By apiVersion. A decoder brings what it reads to v1, whatever the version it was written in."""
