"""Loaders of users: classes in files and modules."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from stowplan.errors import InputError
from stowplan.traces.loader import TraceLoader, reported

FORMS = "./file.py, ./file.py:Class if the file defines several, or package.module:Class"


def is_class_name(loader: str) -> bool:
    """Whether a loader is given as a class, not by its name in the table."""
    return loader.endswith(".py") or ":" in loader


def load_class(loader: str, folder: Path) -> type[TraceLoader]:
    """The class; files are relative to the folder. Raises InputError, or PluginBugError if the code raises."""
    where, _, name = (loader, "", "") if loader.endswith(".py") else loader.rpartition(":")
    module = _file(loader, folder / where) if where.endswith(".py") else _module(loader, where)
    found: Any = getattr(module, name, None) if name else _only_class(loader, module)
    if not isinstance(found, type) or not issubclass(found, TraceLoader) or found is TraceLoader:
        raise InputError(f"trace loader {loader}: no class {name} derived from stowplan.traces.TraceLoader")
    return found


def _module(loader: str, name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise InputError(f"trace loader {loader}: expected {FORMS}")
    with reported(f"trace loader {loader}"):
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as problem:
            if not f"{name}.".startswith(f"{problem.name}."):
                raise
            raise InputError(f"trace loader {loader}: no module {problem.name}") from problem


def _file(loader: str, path: Path) -> ModuleType:
    if not path.is_file():
        raise InputError(f"trace loader {loader}: no such file: {path}")
    spec = importlib.util.spec_from_file_location(f"stowplan_trace_{path.stem}", path.absolute())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    with reported(f"trace loader {loader}", str(path.absolute())):
        spec.loader.exec_module(module)
    return module


def _only_class(loader: str, module: ModuleType) -> type:
    kinds = [kind for kind in vars(module).values() if isinstance(kind, type) and kind.__module__ == module.__name__]
    loaders = [kind for kind in dict.fromkeys(kinds) if issubclass(kind, TraceLoader)]
    if len(loaders) == 1:
        return loaders[0]
    if not loaders:
        raise InputError(f"trace loader {loader}: the file defines no class derived from stowplan.traces.TraceLoader")
    names = ", ".join(kind.__name__ for kind in loaders)
    raise InputError(
        f"trace loader {loader}: the file defines several loaders ({names}): append :{names.split(',')[0]}"
    )
