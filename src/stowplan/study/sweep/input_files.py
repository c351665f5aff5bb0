"""The files that determine a run beside its document: those that a scenario names, and the code of runners."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b, file_digest
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from stowplan.errors import InputError, os_error_text

_LOADER = "loader"
_NAMING_FIELDS = ("file", "curve", "manifest", "manifests", "path", _LOADER)
_ENTRY_POINTS = "stowplan.plugins"
"""The group of installed plugins."""
_PACKAGE_FILE = "__init__.py"
_OTHER_PARTS = ("expect", "record")
"""Parts of a scenario that do not change its runs."""
_NO_TRACES = (".yaml", ".yml", ".svg", ".png", ".html")
"""Files beside traces that are not read: documents, and plots that a sweep writes."""


class InputFiles:
    """Hashes of files by name. Each file is read once, though many runs use it."""

    def __init__(self) -> None:
        self._hashes: dict[Path, str] = {}
        self._modules: dict[str, dict[str, str]] = {}

    def of_scenario(self, document: dict[str, Any], folder: Path) -> dict[str, str]:
        """The files that a scenario in this folder names; of folders, the files in them."""
        texts = list(_texts({key: value for key, value in document.items() if key not in _OTHER_PARTS}))
        files = sorted({file for field, text in texts for file in _named(field, text, folder)})
        found = {str(file): self.hash_of(file) for file in files}
        for field, text in texts:
            if field == _LOADER:
                found |= self.of_class(text)
        return found

    def of_plugins(self, plugins: list[str]) -> dict[str, str]:
        """The sources of plugins that are given as for --plugin."""
        files = [Path(each.partition(":")[0]) for each in plugins]
        found = {str(file): self.hash_of(file) for file in files if file.suffix == ".py" and file.is_file()}
        for each in plugins:
            found |= self.of_class(each)
        return found

    def of_class(self, text: str) -> dict[str, str]:
        """The source of a class or a function in a module, `package.module:Name`; nothing for another text."""
        module, separator, _ = text.partition(":")
        return self.of_module(module) if separator and not module.endswith(".py") else {}

    def of_module(self, name: str) -> dict[str, str]:
        """The file of a module; of a package, its modules. Nothing if it has no file, or cannot be found: the run
        reports that."""
        if name not in self._modules:
            self._modules[name] = self._sources(name)
        return self._modules[name]

    def of_installed(self) -> dict[str, str]:
        """The sources of plugins that are installed as entry points: every run loads them."""
        found: dict[str, str] = {}
        for entry in entry_points(group=_ENTRY_POINTS):
            found |= self.of_class(entry.value)
        return found

    def _sources(self, name: str) -> dict[str, str]:
        try:
            found = find_spec(name)
        except Exception:  # Of a package around it, which is imported.
            return {}
        file = Path(found.origin) if found is not None and found.has_location and found.origin else None
        if file is None or not file.is_file():
            return {}
        inner = file.parent.rglob("*.py") if file.name == _PACKAGE_FILE else ()
        others = {f"{name} {each.relative_to(file.parent)}": self.hash_of(each) for each in sorted(inner)}
        return {name: self.hash_of(file), **others}

    def hash_of(self, file: Path) -> str:
        if file not in self._hashes:
            try:
                with file.open("rb") as stream:
                    self._hashes[file] = file_digest(stream, lambda: blake2b(digest_size=12)).hexdigest()
            except OSError as problem:
                raise InputError(f"{file}: {os_error_text(problem)}") from problem
        return self._hashes[file]


def _texts(value: object, field: str = "") -> Iterator[tuple[str, str]]:
    """The texts of fields that name files, with the name of the field."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _texts(each, key)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each, field)
    elif isinstance(value, str) and field in _NAMING_FIELDS:
        yield field, value


def _named(field: str, text: str, folder: Path) -> Iterator[Path]:
    place = folder / (text.rpartition(":")[0] if ".py:" in text else text)
    if place.is_file():
        yield place
    elif place.is_dir():
        is_trace = field == "path"
        files = place.iterdir() if is_trace else place.rglob("*")
        yield from (file for file in files if file.is_file() and not (is_trace and file.suffix in _NO_TRACES))
