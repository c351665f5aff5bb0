"""Read-only dicts and lists: objects of the API that plugins read and must not change, since all plugins share them."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Final, NoReturn, TypeVar

from msgspec import Struct
from msgspec.structs import force_setattr

K = TypeVar("K")
V = TypeVar("V")


def _refuse(self: object, *args: object, **named: object) -> NoReturn:
    kind = "dict" if isinstance(self, dict) else "list"
    raise TypeError(f"read-only: plugins share this {kind} with the scheduler; change a copy, {kind}(...)")


class ReadOnlyDict(dict[K, V]):
    """A dict that refuses changes, also for encoders. Its copies are plain dicts. Keys of JSON objects are attributes
    as well, as they are and in snake case: `pod.object.spec.service_account_name`."""

    __slots__ = ()

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __getattr__(self, name: str) -> V:
        for key, value in self.items():
            if isinstance(key, str) and (key == name or snake_case(key) == name):
                return value
        raise AttributeError(f"no field {name!r}; the fields here are {', '.join(map(str, self)) or 'none'}")

    def __copy__(self) -> dict[K, V]:
        return dict(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[K, V]:
        return deepcopy(dict(self), memo)

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


EMPTY: Final[dict[str, Any]] = ReadOnlyDict()
"""Default of all fields that are mappings. Encoders leave out a field that is this object."""


class ReadOnlyList(list[V]):
    """A list that refuses changes. Its copies are plain lists."""

    __slots__ = ()

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __copy__(self) -> list[V]:
        return list(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> list[V]:
        return deepcopy(list(self), memo)

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


def read_only(value: Any) -> Any:
    """Parsed JSON with every dict and list in it read-only."""
    if type(value) is dict:
        return ReadOnlyDict({key: read_only(member) for key, member in value.items()})
    if type(value) is list:
        return ReadOnlyList([read_only(item) for item in value])
    return value


def freeze(item: Struct) -> None:
    """Makes the dicts in an API struct read-only, in place: its fields are read-only already."""
    for name in item.__struct_fields__:
        value = getattr(item, name)
        if type(value) is dict:
            force_setattr(item, name, ReadOnlyDict(value) if value else EMPTY)
        elif type(value) is tuple:
            for each in value:
                if isinstance(each, Struct):
                    freeze(each)
        elif isinstance(value, Struct):
            freeze(value)


def snake_case(name: str) -> str:
    """`hostIP` as `host_ip`, like the names of the structs and of the Kubernetes client for Python."""
    text = ""
    for position, letter in enumerate(name):
        after_lower = position and not name[position - 1].isupper()
        before_lower = position and name[position + 1 : position + 2].islower()
        text += f"_{letter}" if letter.isupper() and (after_lower or before_lower) else letter
    return text.lower()
