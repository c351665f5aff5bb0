"""One name, in the spelling of each place that it goes to."""

from __future__ import annotations

import keyword
import re
from typing import NamedTuple

from stowplan.errors import InputError

_GIVEN = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[0-9]+")


class Names(NamedTuple):
    """What a plugin and its project are called."""

    project: str
    """The folder and the distribution: rack-care."""
    package: str
    """What Python imports: rack_care."""
    plugin: str
    """The class, and the name that configurations use: RackCare."""

    @classmethod
    def of(cls, given: str) -> Names:
        """All spellings of a name given in any of them. Raises InputError for what makes none."""
        if not _GIVEN.fullmatch(given):
            raise InputError(
                f'"{given}" cannot be a plugin\'s name: letters, digits, - and _, a letter first, like rack-care'
            )
        words = [word.lower() for word in _WORD.findall(given)]
        names = cls("-".join(words), "_".join(words), "".join(word.capitalize() for word in words))
        if keyword.iskeyword(names.package) or names.package in ("stowplan", "tests"):
            raise InputError(f'"{given}" cannot be a plugin\'s name: Python needs "{names.package}" for something else')
        return names
