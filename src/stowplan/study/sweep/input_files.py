"""The files that determine a run beside its document: those that a scenario names, and the code of runners."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b, file_digest
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from stowplan.errors import InputError, os_error_text

_NAMING_FIELDS = ("file", "curve", "manifest", "manifests", "path", "loader")
_OTHER_PARTS = ("expect", "record")
"""Parts of a scenario that do not change its runs."""
_NO_TRACES = (".yaml", ".yml", ".svg", ".png", ".html")
"""Files beside traces that are not read: documents, and plots that a sweep writes."""


class InputFiles:
    """Hashes of files by name. Each file is read once, though many runs use it."""

    def __init__(self) -> None:
        self._hashes: dict[Path, str] = {}

    def of_scenario(self, document: dict[str, Any], folder: Path) -> dict[str, str]:
        """The files that a scenario in this folder names; of folders, the files in them."""
        kept = {key: value for key, value in document.items() if key not in _OTHER_PARTS}
        return {str(file): self.hash_of(file) for file in sorted(set(_named(kept, folder)))}

    def of_plugins(self, plugins: list[str]) -> dict[str, str]:
        """The files among plugins that are given as for --plugin."""
        files = [Path(each.partition(":")[0]) for each in plugins]
        return {str(file): self.hash_of(file) for file in files if file.suffix == ".py" and file.is_file()}

    def of_runner(self, runner: str) -> dict[str, str]:
        """The file of a runner's module, if it has one."""
        name = runner.partition(":")[0]
        try:
            found = find_spec(name)
        except (ImportError, ValueError):
            return {}
        file = Path(found.origin) if found is not None and found.has_location and found.origin else None
        return {} if file is None or not file.is_file() else {name: self.hash_of(file)}

    def hash_of(self, file: Path) -> str:
        if file not in self._hashes:
            try:
                with file.open("rb") as stream:
                    self._hashes[file] = file_digest(stream, lambda: blake2b(digest_size=12)).hexdigest()
            except OSError as problem:
                raise InputError(f"{file}: {os_error_text(problem)}") from problem
        return self._hashes[file]


def _named(value: object, folder: Path, field: str = "") -> Iterator[Path]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _named(each, folder, key)
    elif isinstance(value, list):
        for each in value:
            yield from _named(each, folder, field)
    elif isinstance(value, str) and field in _NAMING_FIELDS:
        place = folder / (value.rpartition(":")[0] if ".py:" in value else value)
        if place.is_file():
            yield place
        elif place.is_dir():
            is_trace = field == "path"
            files = place.iterdir() if is_trace else place.rglob("*")
            yield from (file for file in files if file.is_file() and not (is_trace and file.suffix in _NO_TRACES))
