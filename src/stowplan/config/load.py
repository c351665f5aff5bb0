"""Loads a configuration: text or plain data in, a complete and valid configuration out, or all errors.

Upstream: cmd/kube-scheduler/app/options/configfile.go
"""

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

import msgspec

from stowplan.config.args import ARGS
from stowplan.config.conversion import V1, Converted, PolicyReader, convert
from stowplan.config.conversion.sources import refuse
from stowplan.config.defaults import complete, ignore_managed_resources
from stowplan.config.errors import FieldError, InvalidConfigurationError, Problems
from stowplan.config.releases import LATEST, Release
from stowplan.config.strict_decoding import decode, decode_walking, type_name
from stowplan.config.text import parse
from stowplan.config.types import API_VERSION, KIND, KubeSchedulerConfiguration, PluginConfig, Profile
from stowplan.config.validation import check_plugin_names, validate


class Loaded(NamedTuple):
    """A configuration and its conversion."""

    config: KubeSchedulerConfiguration
    converted: Converted
    """The document as v1, before defaults."""


def load(
    text: str | bytes,
    source: str = "config.yaml",
    known_plugins: Collection[str] | None = None,
    policies: PolicyReader = refuse,
    release: Release = LATEST,
) -> KubeSchedulerConfiguration:
    """Read JSON or YAML. `source` starts each line of an error; `known_plugins` None accepts any plugin name."""
    return read(text, source, known_plugins, policies, release).config


def read(
    text: str | bytes,
    source: str = "config.yaml",
    known_plugins: Collection[str] | None = None,
    policies: PolicyReader = refuse,
    release: Release = LATEST,
) -> Loaded:
    """The same with the notices of the conversion."""
    value, repeated = parse(text, source)
    return _build(value, source, known_plugins, repeated, policies, release)


def from_builtins(
    value: object,
    source: str = "config",
    known_plugins: Collection[str] | None = None,
    release: Release = LATEST,
) -> KubeSchedulerConfiguration:
    """The same from plain data, as a JSON parser returns it."""
    if not isinstance(value, dict):
        raise InvalidConfigurationError(source, [FieldError("", f"expected an object, got {type_name(value)}")])
    return _build(value, source, known_plugins, (), refuse, release).config


def _build(
    value: dict[str, Any],
    source: str,
    known_plugins: Collection[str] | None,
    faults: Iterable[FieldError],
    policies: PolicyReader,
    release: Release,
) -> Loaded:
    structure, rules = Problems(faults), Problems()
    converted = convert(value, source, known_plugins, policies)
    _check_head(converted.value, source)
    written = _decode(converted.value, structure)
    if converted.version == V1:  # Otherwise the names were checked in the original document.
        check_plugin_names(written, known_plugins, rules, release)
    config = complete(written, release)
    validate(config, rules)
    # A field that did not decode was validated with its default; errors about it are duplicates.
    news = [error for error in rules.errors if not any(error.touches(fault) for fault in structure.errors)]
    if errors := structure.errors + news:
        moved = [error._replace(path=converted.original_path(error.path)) for error in errors]
        raise InvalidConfigurationError(source, moved)
    return Loaded(ignore_managed_resources(config), converted)


def _check_head(value: dict[str, Any], source: str) -> None:
    problems = Problems()
    for field, only in (("kind", KIND), ("apiVersion", API_VERSION)):
        given = value.get(field)
        if given == only:
            continue
        if given is None:
            problems.required(f"$.{field}", f"must be {only}")
        else:
            problems.invalid(f"$.{field}", given, f"must be {only}")
        raise InvalidConfigurationError(source, problems.errors)


def _decode(value: dict[str, Any], problems: Problems) -> KubeSchedulerConfiguration:
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
