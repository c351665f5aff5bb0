"""Loads plugins given by --plugin, and plugins installed as entry points."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from stowplan.errors import PluginBugError, PluginError

if TYPE_CHECKING:
    from stowplan.runtime import Factory

T = TypeVar("T")

GROUP = "stowplan.plugins"

SPECIFICATION = (
    "./file.py, ./file.py:Class if the file defines several, package.module:Class, or the name of an optional plugin"
)
"""The forms of a plugin's value, for help and messages."""

plugin_option: Callable[[Any], Any] = click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="PLUGIN",
    help=f"Add a plugin: {SPECIFICATION}; may be given again. A plugin that the configuration "
    "does not mention is enabled at every extension point that it implements.",
)


def load_plugins(specifications: tuple[str, ...]) -> dict[str, Factory]:
    """Factories by plugin name, including installed plugins."""
    found: dict[str, Factory] = {}
    for entry in _installed():
        origin = f'installed plugin "{entry.name}" ({entry.value})'
        _register(found, origin, entry.name, _attempt(origin, entry.load))
    for specification in specifications:
        origin = f"--plugin {specification}"
        factory = _load(origin, specification)
        _register(found, origin, getattr(factory, "name", "") or getattr(factory, "__name__", ""), factory)
    return found


@cache
def _installed() -> tuple[EntryPoint, ...]:
    """Installed plugins. The search through the metadata of all packages takes milliseconds, in each run of a sweep."""
    return tuple(entry_points(group=GROUP))


def print_plugin_bugs(bugs: Mapping[str, str]) -> None:
    """Prints the first bug of each plugin that has shown one, by the plugin's name."""
    for name, bug in bugs.items():
        click.echo(f"stowplan: plugin {name}: {bug}", err=True)


def load_plugin(specification: str) -> Factory:
    """Loads the factory of one plugin."""
    found: dict[str, Factory] = {}
    origin = f"--plugin {specification}"
    factory = _load(origin, specification)
    _register(found, origin, getattr(factory, "name", "") or getattr(factory, "__name__", ""), factory)
    return next(iter(found.values()))


def _register(found: dict[str, Factory], origin: str, name: object, factory: Any) -> None:
    from stowplan.config import IN_TREE_PLUGINS
    from stowplan.framework import Plugin
    from stowplan.optional_plugins.registry import optional_classes

    if not callable(factory):
        raise PluginError(f"{origin}: neither a class nor a factory function")
    if isinstance(factory, type) and not issubclass(factory, Plugin):
        raise PluginError(f"{origin}: class {factory.__name__} is not derived from stowplan.Plugin")
    if not isinstance(name, str) or not name:
        raise PluginError(f"{origin}: its name must be a string, not {name!r}")
    if name in found or (name in IN_TREE_PLUGINS and factory is not optional_classes([name]).get(name)):
        raise PluginError(f'{origin}: a plugin named "{name}" already exists')
    found[name] = factory


def _load(origin: str, specification: str) -> Any:
    from stowplan.optional_plugins.registry import optional_classes

    if optional := optional_classes([specification]):
        return optional[specification]
    if specification.endswith(".py"):
        return _only_plugin(origin, _load_file(origin, Path(specification)))
    where, separator, name = specification.rpartition(":")
    if not separator or not where or not name:
        raise PluginError(f"{origin}: expected {SPECIFICATION}")
    if where.endswith(".py"):
        module = _load_file(origin, Path(where))
    else:
        module = _attempt(origin, lambda: importlib.import_module(where), where)
    if not hasattr(module, name):
        from stowplan.config.strict_decoding import suggestion

        raise PluginError(f'{origin}: {where} has no "{name}"{suggestion(name, vars(module))}')
    return getattr(module, name)


def _only_plugin(origin: str, module: ModuleType) -> type:
    """The plugin of a file that defines one; base classes of other classes of the file do not count."""
    from stowplan.framework import Plugin

    defined = [kind for kind in vars(module).values() if isinstance(kind, type) and kind.__module__ == module.__name__]
    plugins = [kind for kind in dict.fromkeys(defined) if issubclass(kind, Plugin)]
    found = [kind for kind in plugins if not any(kind in other.__bases__ for other in plugins)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise PluginError(f"{origin}: the file defines no class derived from stowplan.Plugin")
    names = ", ".join(kind.__name__ for kind in found)
    raise PluginError(f"{origin}: the file defines several plugins ({names}): append :{found[0].__name__} or another")


def _load_file(origin: str, path: Path) -> ModuleType:
    if not path.is_file():
        raise PluginError(f"{origin}: no such file: {path}")
    spec = importlib.util.spec_from_file_location(f"stowplan_plugin_{path.stem}", path)
    assert spec is not None
    loader = spec.loader
    assert loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    _attempt(origin, lambda: loader.exec_module(module))
    return module


def _attempt(origin: str, run: Callable[[], T], module: str = "") -> T:
    """Runs code of a plugin. Any exception, SystemExit included, becomes a PluginBugError of one line; a PluginError if
    there is no such `module`."""
    try:
        return run()
    except (Exception, SystemExit) as problem:
        from stowplan.framework.safe_text import raised

        text = f"{origin}: {' '.join(raised(problem).removeprefix('raised ').split())}"
        is_missing = isinstance(problem, ModuleNotFoundError) and f"{module}.".startswith(f"{problem.name}.")
        raise (PluginError if is_missing else PluginBugError)(text) from problem
