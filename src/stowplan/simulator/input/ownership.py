"""Owner references between the objects of an input.

Objects of a cluster refer to their owners by uid; manifests have no uids. Objects without a uid get one here: the uid
by which other objects refer to them, or a new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from stowplan import api
from stowplan.cache.stores import key_of
from stowplan.simulator.api_server import controller_of
from stowplan.simulator.custom_workload import kind_of
from stowplan.simulator.identity import make_uid
from stowplan.simulator.input.documents import Origin

Objects = list[tuple[Any, Origin]]
Key = tuple[str, str]
"""(kind, "namespace/name")."""


class Ownership:
    """The objects of an input, with uids in metadata and owner references."""

    def __init__(self, objects: Objects) -> None:
        uids = _find_uids(objects)
        self.objects: Objects = [(_with_uids(item, uids), origin) for item, origin in objects]
        self._by_uid = {item.metadata.uid: (item, origin) for item, origin in self.objects}

    def owner_of(self, item: Any) -> Any:
        """The object of the input that controls this one, if any."""
        reference = controller_of(item)
        found = None if reference is None else self._by_uid.get(reference.uid)
        return None if found is None else found[0]

    def problems(self) -> Iterator[str]:
        """Cycles of owner references, each reported once."""
        settled: set[str] = set()
        for item, origin in self.objects:
            path: dict[str, Any] = {}
            while item is not None and item.metadata.uid not in settled:
                if item.metadata.uid in path:
                    circle = [*path.values()][list(path).index(item.metadata.uid) :]
                    shown = " -> ".join(map(describe, [*circle, circle[0]]))
                    yield origin.locate(f"$.metadata.ownerReferences: cycle: {shown}")
                    break
                path[item.metadata.uid] = item
                item = self.owner_of(item)
            settled.update(path)


def describe(item: Any) -> str:
    """Kind and name of an object."""
    return f"{kind_of(item).name} {key_of(item.metadata)}"


def count_of(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def listed(what: str, names: Iterable[str], max_names: int = 3) -> str:
    """A count with some of the names."""
    known = list(names)
    shown = ", ".join([*known[:max_names], *(["..."] if len(known) > max_names else [])])
    return f"{count_of(len(known), what)} ({shown})"


def _find_uids(objects: Objects) -> dict[Key, str]:
    """A uid for every object of the input, and for every owner without one that is not in the input."""
    given = {_key(item): item.metadata.uid for item, _ in objects}
    for item, _ in objects:
        for reference in item.metadata.owner_references:
            key = _owner_key(item, reference)
            if not given.get(key):
                given[key] = reference.uid
    return {key: uid or make_uid(*key, 0) for key, uid in given.items()}


def _with_uids(item: Any, uids: dict[Key, str]) -> Any:
    metadata = item.metadata
    owners = tuple(
        reference if reference.uid else replace(reference, uid=uids[_owner_key(item, reference)])
        for reference in metadata.owner_references
    )
    if metadata.uid and owners == metadata.owner_references:
        return item
    return replace(item, metadata=replace(metadata, uid=uids[_key(item)], owner_references=owners))


def _key(item: Any) -> Key:
    return kind_of(item).name, key_of(item.metadata)


def _owner_key(item: Any, reference: api.OwnerReference) -> Key:
    """The owner's key; an owner is in the same namespace or cluster-scoped."""
    kind = api.KINDS.get(reference.kind)
    namespace = item.metadata.namespace if kind is None or kind.namespaced else ""
    return reference.kind, key_of(api.ObjectMeta(name=reference.name, namespace=namespace))
