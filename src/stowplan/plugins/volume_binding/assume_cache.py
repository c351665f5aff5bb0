"""Volumes and claims as earlier cycles decided about them, until the API server has the decision.

Upstream: pkg/scheduler/framework/plugins/volumebinding/assume_cache.go
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

from stowplan.cache import Store, key_of
from stowplan.cache.stores import ApiObject
from stowplan.cache.volumes import not_found

T = TypeVar("T", bound=ApiObject)


class VolumeAssumeCache(Generic[T]):
    """Assumed objects over a store. An assumed object is valid until the stored one changes or is deleted."""

    def __init__(self, store: Store[T], resource: str) -> None:
        self._store = store
        self._resource = resource
        self._assumed: dict[str, tuple[T, T]] = {}
        """(stored object, assumed object made from it) by key."""

    def get(self, name: str, namespace: str = "") -> T | None:
        stored = self._store.get(name, namespace)
        return None if stored is None else self.latest(stored)

    def latest(self, stored: T) -> T:
        """The valid assumed object in place of a stored one; else the stored one."""
        if not self._assumed:
            return stored
        base, assumed = self._assumed.get(key_of(stored.metadata), (None, stored))
        return assumed if base is None or _same_version(base, stored) else stored

    def all_latest(self, stored: Iterable[T]) -> list[T]:
        return [self.latest(item) for item in stored] if self._assumed else list(stored)

    def assume(self, item: T) -> str | None:
        """Assume an object made from the stored one; returns an error text if that is no longer stored."""
        key = key_of(item.metadata)
        stored = self._store.items().get(key)
        if stored is None:
            return not_found(self._resource, key)
        versions = stored.metadata.resource_version, item.metadata.resource_version
        if versions[0] != versions[1]:
            return f'"{key}" is out of sync (stored: {versions[0]}, assume: {versions[1]})'
        self._forget_outdated()
        self._assumed[key] = (stored, item)
        return None

    def restore(self, item: T) -> None:
        """Drop an assumed object; no effect if it was not assumed or has another version."""
        key = key_of(item.metadata)
        _, assumed = self._assumed.get(key, (None, None))
        if assumed is not None and assumed.metadata.resource_version == item.metadata.resource_version:
            del self._assumed[key]

    def _forget_outdated(self) -> None:
        stored = self._store.items()
        self._assumed = {
            key: (base, assumed)
            for key, (base, assumed) in self._assumed.items()
            if key in stored and _same_version(base, stored[key])
        }


def _same_version(a: ApiObject, b: ApiObject) -> bool:
    """Compare resource versions. Objects without one (from files) are equal only if identical."""
    return a is b or (a.metadata.resource_version == b.metadata.resource_version != "")
