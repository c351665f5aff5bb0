"""An API server in memory: stored objects, watch events, and requests."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from enum import IntEnum
from functools import partial
from itertools import count
from typing import Any, NamedTuple, TypeVar

from msgspec.structs import replace

from stowplan import api
from stowplan.cache.stores import ApiObject, Stores, key_of
from stowplan.framework.instructions import Instruction, Request
from stowplan.simulator.api_writes import HANDLERS
from stowplan.simulator.custom_workload import struct_of
from stowplan.simulator.faults import Faults
from stowplan.simulator.identity import make_uid, timestamp
from stowplan.simulator.kept_events import KeptEvents

T = TypeVar("T", bound=ApiObject)

_MAX_KEPT_EVENTS = 100_000
_MAX_KEPT_INCARNATIONS = 10_000


class StepOrder(IntEnum):
    """The order of steps at the same time. Scheduling cycles come after all of them.

    Completions are first: otherwise a full cluster would reject pods for which room appears at the same moment.
    """

    COMPLETION = 0
    NODE = 1
    AUTOSCALER = 2
    ARRIVAL = 3


class ObjectChange(NamedTuple):
    """A watch event: the current object, or the last state of a deleted one."""

    item: Any
    removed: bool = False


class ApiServer:
    """The state of the simulated cluster. Times are seconds since 1970 by the injected clock."""

    def __init__(
        self,
        clock: Callable[[], float],
        faults: Faults | None = None,
        *,
        grace: float = 0.0,
        max_kept_events: int = _MAX_KEPT_EVENTS,
    ) -> None:
        self.version = 0
        """Number of changes without those by `put_status`; while it is constant, the cluster makes no progress."""
        self.events = KeptEvents(max_kept_events)
        self.clock = clock
        self.assumed_owners: frozenset[str] = frozenset()
        """The uids of controllers that are not simulated, and are assumed to recreate pods that they lose."""
        self._faults = faults
        self._grace = grace
        """Seconds that a running pod takes to terminate."""
        self._stores = Stores()
        self._changes: list[ObjectChange] = []
        self._revision = 0
        self._latest: ApiObject | None = None
        """The object that was stored last, unless one was removed since."""
        self._stamped = (-1.0, "")
        """The latest time that was written, and its text."""
        self._incarnations: dict[tuple[type, str], int] = {}
        """How many deleted objects had the name; part of the uid of the next one."""
        self._first_incarnation = 0
        """The number for names that are not in `_incarnations`."""
        self._dependents: dict[str, dict[type, dict[str, None]]] = {}
        self._pods_by_node: dict[str, dict[str, api.Pod]] | None = None
        self._steps: list[tuple[float, int, int, Callable[[], None]]] = []
        self._numbers = count()
        for loss in faults.node_losses if faults else ():
            self.at(loss.at, partial(self.delete, api.Node(metadata=api.ObjectMeta(name=loss.name))))

    def now(self) -> str:
        """The current time in RFC 3339."""
        now = self.clock()
        if now != self._stamped[0]:
            self._stamped = now, timestamp(int(now))
        return self._stamped[1]

    def get(self, kind: type[T], name: str, namespace: str = "") -> T | None:
        return self._stores.of(kind).get(name, namespace)

    def is_current(self, item: ApiObject) -> bool:
        """Whether this is the stored state of the object."""
        return item is self._latest or self.get(type(item), item.metadata.name, item.metadata.namespace) is item

    def all(self, kind: type[T]) -> Iterable[T]:
        return self._stores.of(kind)

    def listen(self, kind: type[T], listener: Callable[[T | None, T | None], None]) -> None:
        """Call a listener with every change of a kind at once: (old object, new object), None for a missing one."""
        self._stores.of(kind).listen(listener)

    def count(self, kind: type[T]) -> int:
        return len(self._stores.of(kind))

    def dependents(self, owner_uid: str, kind: type[T]) -> dict[str, None]:
        """Names of the objects of a kind that the owner controls, in the order of creation."""
        return self._dependents.get(owner_uid, _NO_KINDS).get(kind, _NO_NAMES)

    def owner_of(self, item: ApiObject) -> Any:
        """The object that controls this one; None without a controller, or if it does not exist."""
        reference = controller_of(item)
        if reference is None:
            return None
        struct, namespaced = struct_of(reference.kind)
        owner: Any = self.get(struct, reference.name, item.metadata.namespace if namespaced else "")
        return owner if owner is not None and owner.metadata.uid == reference.uid else None

    def all_dependents(self, owner_uid: str) -> list[tuple[type[Any], str]]:
        """Kinds and names of all objects that the owner controls."""
        return [(kind, name) for kind, names in self._dependents.get(owner_uid, _NO_KINDS).items() for name in names]

    def objects(self) -> list[Any]:
        """All stored objects, kind by kind."""
        return [item for store in self._stores.all() for item in store]

    def pods_on(self, node_name: str) -> list[api.Pod]:
        """The pods that are bound to a node. The first call indexes all pods."""
        if self._pods_by_node is None:
            self._pods_by_node = {}
            for pod in self.all(api.Pod):
                self._index_pod(None, pod)
            self.listen(api.Pod, self._index_pod)
        return list(self._pods_by_node.get(node_name, _NO_PODS).values())

    def _index_pod(self, old: api.Pod | None, new: api.Pod | None) -> None:
        index = self._pods_by_node
        assert index is not None
        if old is not None and old.spec.node_name:
            index.get(old.spec.node_name, _NO_PODS).pop(key_of(old.metadata), None)
        if new is not None and new.spec.node_name:
            index.setdefault(new.spec.node_name, {})[key_of(new.metadata)] = new

    def continue_uids(self, earlier: ApiServer) -> None:
        """Give new objects other uids than deleted objects of an earlier API server had."""
        self._incarnations = dict(earlier._incarnations)
        self._first_incarnation = earlier._first_incarnation

    def put(self, item: T) -> T:
        """Create or replace an object; a uid and a creation time are added if missing."""
        self.version += 1
        return self._store(item)

    def put_status(self, item: T) -> T:
        """Replace an object of which only the status changed; does not count as progress."""
        return self._store(item)

    def delete(self, item: ApiObject) -> None:
        """Delete the object of this kind and name, if it exists; a running pod terminates gracefully."""
        found = self._stores.of(type(item)).get(item.metadata.name, item.metadata.namespace)
        if found is None:
            return
        if not self._grace or not isinstance(found, api.Pod) or not found.spec.node_name:
            self._remove(found)
        elif found.metadata.deletion_timestamp is None:
            gone_at = self.clock() + self._grace
            ending = replace(found.metadata, deletion_timestamp=timestamp(int(gone_at)))
            self.put(replace(found, metadata=ending))
            self.at(gone_at, partial(self.finish, found))

    def finish(self, item: ApiObject) -> None:
        """Remove an object, unless it is gone and another one has its name."""
        found = self._stores.of(type(item)).get(item.metadata.name, item.metadata.namespace)
        if found is not None and found.metadata.uid == item.metadata.uid:
            self._remove(found)

    def changes(self) -> list[ObjectChange]:
        """Watch events since the last call."""
        drained, self._changes = self._changes, []
        return drained

    @property
    def has_changes(self) -> bool:
        """Whether there are watch events since the last call of `changes`."""
        return bool(self._changes)

    def execute(self, instruction: Instruction) -> Any:
        """Carry out an instruction; returns its outcome, a Failure, or either of them as `Delayed`."""
        handle = HANDLERS[type(instruction)]
        if self._faults is None or not isinstance(instruction, Request):
            return handle(self, instruction)
        return self._faults.carry_out(instruction, lambda request: handle(self, request))

    def at(self, when: float, step: Callable[[], None], order: StepOrder = StepOrder.NODE) -> None:
        """Schedule a step."""
        heapq.heappush(self._steps, (when, order, next(self._numbers), step))

    def next_deadline(self) -> float | None:
        """When the next step is due."""
        return self._steps[0][0] if self._steps else None

    def tick(self) -> None:
        """Run the steps that are due."""
        now = self.clock()
        while self._steps and self._steps[0][0] <= now:
            heapq.heappop(self._steps)[3]()

    def _store(self, item: T) -> T:
        metadata = item.metadata
        store = self._stores.of(type(item))
        old = store.get(metadata.name, metadata.namespace)
        if old is not None and metadata.uid and metadata.uid != old.metadata.uid:
            self._remove(old)
            old = None
        if old is None:
            uid = metadata.uid or self._new_uid(item)
            created = metadata.creation_timestamp or self.now()
        else:
            uid, created = old.metadata.uid, old.metadata.creation_timestamp
        self._revision += 1
        metadata = replace(metadata, uid=uid, creation_timestamp=created, resource_version=str(self._revision))
        stored: T = replace(item, metadata=metadata)  # type: ignore[type-var]
        self._latest = stored  # Before the listeners, which may store a later state.
        store.put(stored)
        if old is None:
            self._note_owner(stored)
        self._changes.append(ObjectChange(stored))
        return stored

    def _new_uid(self, item: ApiObject) -> str:
        kind, key = type(item), key_of(item.metadata)
        return make_uid(kind.__name__, key, self._incarnations.get((kind, key), self._first_incarnation))

    def _remove(self, item: ApiObject) -> None:
        kind, key = type(item), key_of(item.metadata)
        self.version += 1
        self._latest = None
        self._stores.of(kind).remove(key)
        self._note_incarnation(kind, key)
        if (owner := controller_of(item)) is not None:
            kinds = self._dependents.get(owner.uid, _NO_KINDS)
            kinds.get(kind, _NO_NAMES).pop(item.metadata.name, None)
            if not any(kinds.values()):
                self._dependents.pop(owner.uid, None)
        self._changes.append(ObjectChange(item, removed=True))

    def _note_incarnation(self, kind: type, key: str) -> None:
        """Count a deleted object. When too many names are known, all of them go on from the largest number."""
        self._incarnations[kind, key] = self._incarnations.get((kind, key), self._first_incarnation) + 1
        if len(self._incarnations) > _MAX_KEPT_INCARNATIONS:
            self._first_incarnation = max(self._incarnations.values())
            self._incarnations.clear()

    def _note_owner(self, item: ApiObject) -> None:
        if (owner := controller_of(item)) is not None:
            kinds = self._dependents.setdefault(owner.uid, {})
            kinds.setdefault(type(item), {})[item.metadata.name] = None


_NO_KINDS: dict[type, dict[str, None]] = {}
_NO_NAMES: dict[str, None] = {}
_NO_PODS: dict[str, api.Pod] = {}


def controller_of(item: ApiObject) -> api.OwnerReference | None:
    """The owner reference of the object's controller."""
    for owner in item.metadata.owner_references:
        if owner.controller:
            return owner
    return None
