"""Command-line flags of the extender, declared as annotations of the configuration's fields.

    port: Annotated[int, Flag("--port", "Port that schedulers call.")] = 8888

Type and default are those of the field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import msgspec


class Flag(NamedTuple):
    """The flag of a field."""

    name: str
    help: str
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    member: str = ""
    """For a field that is a struct of another room: the member that the flag sets, with type bool."""

    @property
    def option(self) -> str:
        """The flag as a keyword argument of `extender.run`."""
        return self.name.removeprefix("--").replace("-", "_")


class FlaggedField(NamedTuple):
    """A flag and the field that it sets."""

    flag: Flag
    path: tuple[str, ...]
    """Names in the configuration file, the outermost first."""
    type: Any
    default: Any


def flagged_fields(struct: type[msgspec.Struct], path: tuple[str, ...] = ()) -> Iterator[FlaggedField]:
    """All flags of a configuration, in the order of its fields."""
    hints = get_type_hints(struct, include_extras=True)
    for field in msgspec.structs.fields(struct):
        hint, where = hints[field.name], (*path, field.encode_name)
        flags = [extra for extra in get_args(hint)[1:] if isinstance(extra, Flag)] if _is_annotated(hint) else []
        for flag in flags:
            kind, default = get_args(hint)[0], field.default
            if flag.member:
                yield FlaggedField(flag, (*where, flag.member), bool, False)
            else:
                yield FlaggedField(flag, where, kind, default)
        if not flags and isinstance(hint, type) and issubclass(hint, msgspec.Struct):
            yield from flagged_fields(hint, where)


def as_configuration(struct: type[msgspec.Struct], options: Mapping[str, Any]) -> dict[str, Any]:
    """Values by option, in the shape of the configuration file. Options that are None or empty lists are left out.

    Raises TypeError for an option that does not exist.
    """
    paths = {field.flag.option: field.path for field in flagged_fields(struct)}
    configuration: dict[str, Any] = {}
    for option, value in options.items():
        if option not in paths:
            raise TypeError(f"there is no option {option!r}; there are {', '.join(sorted(paths))}")
        if value is None or value == ():
            continue
        *above, last = paths[option]
        place = configuration
        for name in above:
            place = place.setdefault(name, {})
        place[last] = list(value) if isinstance(value, tuple) else value
    return configuration


def _is_annotated(hint: Any) -> bool:
    return get_origin(hint) is Annotated
