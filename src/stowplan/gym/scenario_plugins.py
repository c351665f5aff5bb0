"""The scheduler of an environment: its configuration and plugins, from the scenario and from the caller."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from stowplan.config import IN_TREE_PLUGINS, KubeSchedulerConfiguration, default_configuration
from stowplan.config import read as read_config
from stowplan.errors import PluginBugError, PluginError
from stowplan.framework import Plugin
from stowplan.framework.safe_text import raised
from stowplan.optional_plugins.registry import optional_classes
from stowplan.plugins.registry import REGISTRY
from stowplan.runtime import Factory, enable_everywhere
from stowplan.simulator.scenario import LoadedScenario
from stowplan.simulator.scenario.reading import read_file

Config = KubeSchedulerConfiguration | str | Path
GivenPlugins = Iterable[str | type[Plugin]] | Mapping[str, Factory]
"""Classes, texts as in the scenario's `plugins`, or factories by name."""


class SchedulerSetup(NamedTuple):
    """The configuration with all plugins enabled, and the factories of plugins."""

    config: KubeSchedulerConfiguration
    registry: Mapping[str, Factory]

    @classmethod
    def of(cls, scenario: LoadedScenario, config: Config | None, plugins: GivenPlugins) -> SchedulerSetup:
        """The plugins of the scenario and the given ones; the given configuration, or the scenario's, or the default.

        Files that the scenario names are relative to its folder.
        """
        found: dict[str, Factory] = {}
        for text in scenario.spec.plugins:
            _register(found, f"{scenario.source}: $.plugins: {text}", text, scenario.folder)
        for name, plugin in plugins.items() if isinstance(plugins, Mapping) else (("", each) for each in plugins):
            _register(found, f"plugin {plugin}", plugin, Path(), name)
        return cls(enable_everywhere(_config(scenario, config, found), found), {**REGISTRY, **found})


def _config(
    scenario: LoadedScenario, given: Config | None, plugins: Mapping[str, Factory]
) -> KubeSchedulerConfiguration:
    if isinstance(given, KubeSchedulerConfiguration):
        return given
    file = str(given or (scenario.folder / scenario.spec.config if scenario.spec.config else ""))
    if not file:
        return default_configuration()
    return read_config(read_file(file), file, IN_TREE_PLUGINS.union(plugins)).config


def _register(
    found: dict[str, Factory], origin: str, plugin: str | Factory | type[Plugin], folder: Path, name: str = ""
) -> None:
    factory: Any = _load(origin, plugin, folder) if isinstance(plugin, str) else plugin
    if not callable(factory) or (isinstance(factory, type) and not issubclass(factory, Plugin)):
        raise PluginError(f"{origin}: neither a class derived from stowplan.Plugin nor a factory function")
    name = name or getattr(factory, "name", "") or factory.__name__
    if name in found or (name in IN_TREE_PLUGINS and factory is not optional_classes([name]).get(name)):
        raise PluginError(f'{origin}: a plugin named "{name}" already exists')
    found[name] = factory


def _load(origin: str, text: str, folder: Path) -> Any:
    if optional := optional_classes([text]):
        return optional[text]
    where, _, name = (text, "", "") if text.endswith(".py") else text.rpartition(":")
    if not where:
        raise PluginError(f"{origin}: expected file.py, file.py:Class, package.module:Class or an optional plugin")
    try:
        module = _module_of_file(folder / where) if where.endswith(".py") else importlib.import_module(where)
    except (OSError, ModuleNotFoundError) as problem:
        raise PluginError(f"{origin}: {problem}") from problem
    except Exception as problem:
        raise PluginBugError(f"{origin}: {' '.join(raised(problem).removeprefix('raised ').split())}") from problem
    if name and not hasattr(module, name):
        raise PluginError(f'{origin}: {where} has no "{name}"')
    return getattr(module, name) if name else _only_plugin(origin, module)


def _module_of_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"stowplan_plugin_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _only_plugin(origin: str, module: ModuleType) -> type[Plugin]:
    own = [each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__]
    found = [each for each in own if issubclass(each, Plugin)]
    if len(found) != 1:
        raise PluginError(f"{origin}: the file defines {len(found)} plugins: append :Class")
    return found[0]
