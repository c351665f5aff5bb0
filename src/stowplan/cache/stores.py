"""Stores of the API objects that plugins look up by name, one for each kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, Protocol, TypeVar, cast

from stowplan.api import ObjectMeta


class ApiObject(Protocol):
    """Anything with metadata."""

    @property
    def metadata(self) -> ObjectMeta: ...


T = TypeVar("T", bound=ApiObject)


def key_of(metadata: ObjectMeta) -> str:
    """ "namespace/name", or the name alone for a cluster-scoped object."""
    return f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name


class Store(Generic[T]):
    """The objects of one kind. `version` grows with every change, which shows whether derived values are stale."""

    __slots__ = ("_listeners", "_objects", "version")

    def __init__(self) -> None:
        self._objects: dict[str, T] = {}
        self._listeners: list[Callable[[T | None, T | None], None]] = []
        self.version = 0

    def listen(self, listener: Callable[[T | None, T | None], None]) -> None:
        """Call a listener with every change from now on: (old object, new object), None for a missing one."""
        self._listeners.append(listener)

    def put(self, item: T) -> None:
        key = key_of(item.metadata)
        old = self._objects.get(key) if self._listeners else None
        self._objects[key] = item
        self.version += 1
        for listener in self._listeners:
            listener(old, item)

    def remove(self, key: str) -> None:
        old = self._objects.pop(key, None)
        self.version += 1
        for listener in self._listeners if old is not None else ():
            listener(old, None)

    def get(self, name: str, namespace: str = "") -> T | None:
        return self._objects.get(f"{namespace}/{name}" if namespace else name)

    def __iter__(self) -> Iterator[T]:
        return iter(self._objects.values())

    def __len__(self) -> int:
        return len(self._objects)

    def items(self) -> dict[str, T]:
        return self._objects


class Stores:
    """Stores by the struct type of the kind, made on first use."""

    __slots__ = ("_by_type",)

    def __init__(self) -> None:
        self._by_type: dict[type, Store[Any]] = {}

    def of(self, kind: type[T]) -> Store[T]:
        store = self._by_type.get(kind)
        if store is None:
            store = self._by_type[kind] = Store()
        return cast("Store[T]", store)

    def all(self) -> list[Store[Any]]:
        return list(self._by_type.values())
