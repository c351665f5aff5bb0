"""Creates the files of a new project from the template."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from stowplan.errors import InputError
from stowplan.scaffold.names import Names

_ENDING = ".tmpl"
"""Suffix of template files, so that tools do not read them as Python or TOML."""
_PACKAGE = "PACKAGE"
_TOKEN = re.compile(r"\{\{(\w+)\}\}")


def files_of(names: Names) -> dict[str, str]:
    """Text of each file by its path in the project."""
    values = names._asdict()
    found: dict[str, str] = {}
    for path, text in sorted(_texts(files(__package__) / "template", "")):
        filled = _TOKEN.sub(lambda token: str(values[token[1]]), text)
        found[path.removesuffix(_ENDING).replace(_PACKAGE, names.package)] = filled
    return found


def write_project(folder: Path, texts: Mapping[str, str]) -> None:
    """Writes the files into a new or empty folder. Raises InputError if the folder has files."""
    try:
        if folder.is_dir() and any(folder.iterdir()):
            raise InputError(f"{folder}: the folder is not empty; choose another with --directory")
        for path, text in texts.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    except OSError as problem:
        raise InputError(f"{problem.filename or folder}: {problem.strerror or problem}") from problem


def _texts(folder: Traversable, prefix: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for entry in folder.iterdir():
        path = f"{prefix}{entry.name}"
        if entry.is_dir():
            found += _texts(entry, f"{path}/")
        elif entry.name.endswith(_ENDING):
            found.append((path, entry.read_text(encoding="utf-8")))
    return found
