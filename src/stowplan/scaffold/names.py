"""The spellings of a plugin's name."""

from __future__ import annotations

import keyword
import re
from typing import NamedTuple

from stowplan.errors import InputError

_GIVEN = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[0-9]+")


class Names(NamedTuple):
    """Names of a plugin and its project."""

    project: str
    """Folder and distribution: rack-care."""
    package: str
    """Python package: rack_care."""
    plugin: str
    """Class, and name in configurations: RackCare."""

    @classmethod
    def of(cls, given: str) -> Names:
        """Derives all spellings from one of them. Raises InputError if the name is invalid."""
        if not _GIVEN.fullmatch(given):
            raise InputError(
                f'"{given}" is not a valid plugin name: letters, digits, - and _, a letter first, such as rack-care'
            )
        words = [word.lower() for word in _WORD.findall(given)]
        names = cls("-".join(words), "_".join(words), "".join(word.capitalize() for word in words))
        if keyword.iskeyword(names.package) or names.package in ("stowplan", "tests"):
            raise InputError(f'"{given}" is not a valid plugin name: the Python name "{names.package}" is reserved')
        return names
