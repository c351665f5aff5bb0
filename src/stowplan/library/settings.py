"""Settings of a run: configuration, plugins and seed, in the forms that callers give them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from stowplan.config import IN_TREE_PLUGINS, KubeSchedulerConfiguration, default_configuration
from stowplan.config import read as read_config
from stowplan.config.conversion import PolicySource
from stowplan.config.releases import LATEST, Release
from stowplan.errors import ConfigError, InputError, PluginError
from stowplan.framework import Plugin
from stowplan.plugins.registry import REGISTRY
from stowplan.runtime import Factory, enable_everywhere


class Settings(NamedTuple):
    """Configuration with all plugins enabled, the out-of-tree plugins, and the seed."""

    config: KubeSchedulerConfiguration
    plugins: dict[str, Factory]
    seed: int

    @classmethod
    def of(
        cls,
        config: KubeSchedulerConfiguration | Mapping[str, Any] | str | os.PathLike[str] | None,
        plugins: Iterable[type[Plugin]] | Mapping[str, Factory],
        seed: int,
        release: Release = LATEST,
    ) -> Settings:
        registered = _registered(plugins)
        return cls(enable_everywhere(_config(config, registered, release), registered), registered, seed)


def _registered(plugins: Iterable[type[Plugin]] | Mapping[str, Factory]) -> dict[str, Factory]:
    if isinstance(plugins, Mapping):
        found = dict(plugins)
    else:
        found = {plugin.name or plugin.__name__: plugin for plugin in plugins}
    for name in found:
        if name in REGISTRY:
            raise PluginError(f'a plugin named "{name}" already exists')
    return found


def _config(
    config: KubeSchedulerConfiguration | Mapping[str, Any] | str | os.PathLike[str] | None,
    plugins: Mapping[str, Factory],
    release: Release,
) -> KubeSchedulerConfiguration:
    if config is None:
        return default_configuration(release)
    if isinstance(config, KubeSchedulerConfiguration):
        return config
    text, source = _text(config)
    return read_config(text, source, IN_TREE_PLUGINS.union(plugins), _no_policy, release).config


def _text(config: Mapping[str, Any] | str | os.PathLike[str]) -> tuple[bytes, str]:
    """The configuration as text, with its name in errors. A string with a line break is YAML, another one a path."""
    if isinstance(config, Mapping):
        return msgspec.json.encode(config), "config"
    if isinstance(config, str) and "\n" in config:
        return config.encode(), "config"
    try:
        return Path(config).read_bytes(), os.fspath(config)
    except OSError as problem:
        raise InputError(f"{os.fspath(config)}: {problem.strerror or problem}") from problem


def _no_policy(source: PolicySource) -> bytes:
    raise ConfigError(f"the policy is in {source}: convert it with 'stowplan config convert'")
