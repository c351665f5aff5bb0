"""Plugins named on the command line or installed beside Stowplan."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from stowplan.errors import PluginError

GROUP = "stowplan.plugins"

plugin_option: Callable[[Any], Any] = click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="MODULE:CLASS",
    help="Add a plugin: package.module:Class or ./file.py:Class. One that the configuration names nowhere is enabled "
    "at every extension point that it implements.",
)


def load_plugins(specifications: tuple[str, ...]) -> dict[str, Any]:
    """Factories by plugin name, installed ones included."""
    from stowplan.plugins.registry import REGISTRY

    found: dict[str, Any] = {}
    for entry in entry_points(group=GROUP):
        _register(found, entry.name, entry.load(), REGISTRY)
    for specification in specifications:
        factory = _load(specification)
        _register(found, getattr(factory, "name", "") or getattr(factory, "__name__", specification), factory, REGISTRY)
    return found


def _register(found: dict[str, Any], name: str, factory: Any, taken: Any) -> None:
    if name in found or name in taken:
        raise PluginError(f'a plugin named "{name}" already exists')
    found[name] = factory


def _load(specification: str) -> Any:
    where, separator, name = specification.rpartition(":")
    if not separator or not where or not name:
        raise PluginError(f"--plugin {specification}: expected package.module:Class or ./file.py:Class")
    module = _load_file(specification, Path(where)) if where.endswith(".py") else _import(specification, where)
    factory = getattr(module, name, None)
    if not callable(factory):
        raise PluginError(f'--plugin {specification}: {where} has no class or factory "{name}"')
    return factory


def _import(specification: str, module: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except Exception as problem:
        raise PluginError(f"--plugin {specification}: {type(problem).__name__}: {problem}") from problem


def _load_file(specification: str, path: Path) -> ModuleType:
    if not path.is_file():
        raise PluginError(f"--plugin {specification}: no such file: {path}")
    name = f"stowplan_plugin_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as problem:
        raise PluginError(f"--plugin {specification}: {type(problem).__name__}: {problem}") from problem
    return module
