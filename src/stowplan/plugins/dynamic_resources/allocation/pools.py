"""The pools of a node: the slices of the newest generation, complete or not, valid or not.

Upstream: k8s.io/dynamic-resource-allocation/structured/internal/incubating/pools_incubating.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from stowplan import framework as fwk
from stowplan.api.quantity import Exact, parse
from stowplan.plugins.dynamic_resources.allocation.allocated import AllocatedState, PoolID
from stowplan.plugins.dynamic_resources.allocation.devices import PublishedDevice, Slice
from stowplan.plugins.dynamic_resources.allocation.features import ALL_FEATURES, AllocatorFeatures

CounterSets = dict[str, dict[str, Exact]]


class DevicePool:
    """The devices of a pool that a node reaches, and the others as far as they share counters."""

    __slots__ = ("_available", "_position", "counters", "devices", "elsewhere", "id", "incomplete", "invalid")

    def __init__(self, pool_id: PoolID) -> None:
        self.id = pool_id
        self.incomplete = False
        self.invalid = False
        self.devices: tuple[PublishedDevice, ...] = ()
        """In the order of the search."""
        self.elsewhere: tuple[PublishedDevice, ...] = ()
        """Devices that the node does not reach; allocated ones consume the same counters."""
        self.counters: CounterSets = {}
        self._available: CounterSets = {}
        self._position = -1

    @property
    def name(self) -> str:
        return f"{self.id[0]}/{self.id[1]}"

    def available(self, allocated: AllocatedState) -> CounterSets:
        """The remaining counters; negative values mean that nothing is left."""
        if self._position != allocated.position:
            left = {name: dict(counters) for name, counters in self.counters.items()}
            for device in (*self.devices, *self.elsewhere):
                if device.consumes and allocated.is_taken(device.id):
                    for name, amounts in device.consumes.items():
                        for counter, amount in amounts.items():
                            left[name][counter] -= amount
            self._available, self._position = left, allocated.position
        return self._available


class NodePools:
    """All pools of a node, in the order of the search."""

    __slots__ = ("candidates", "ids", "pools")

    def __init__(self, pools: Sequence[DevicePool], *, with_incomplete: bool = False) -> None:
        self.pools = pools
        self.ids = frozenset(pool.id for pool in pools)
        self.candidates: list[tuple[PublishedDevice, DevicePool]] = [
            (device, pool)
            for pool in pools
            if not pool.invalid and (with_incomplete or not pool.incomplete)
            for device in pool.devices
        ]
        """All devices that can be allocated."""


def gather(
    slices: Iterable[Slice],
    node: fwk.NodeInfo,
    by_pool: Mapping[PoolID, Sequence[Slice]],
    features: AllocatorFeatures = ALL_FEATURES,
) -> NodePools | str:
    """Gather the pools of a node; `by_pool` has all slices. A text is the error."""
    found: dict[PoolID, list[Slice]] = {}
    for item in slices:
        relevant = item.relevant_to(node)
        if isinstance(relevant, str):
            return f"gather pool information: {relevant}"
        if relevant:
            _add(found, item)
    make = _pool if features.rules.skips_incomplete_pools else _visible_pool
    pools = [pool for pool_id, members in found.items() if (pool := make(pool_id, members, by_pool[pool_id], features))]
    # Devices with binding conditions come last.
    pools.sort(key=lambda pool: (any(d.spec.binding_conditions for d in pool.devices), pool.id))
    return NodePools(pools, with_incomplete=not features.rules.skips_incomplete_pools)


def _add(found: dict[PoolID, list[Slice]], item: Slice) -> None:
    """The slices of the newest generation."""
    members = found.setdefault(item.pool_id, [])
    generation = item.object.spec.pool.generation
    if members and generation > members[0].object.spec.pool.generation:
        members.clear()
    if not members or generation == members[0].object.spec.pool.generation:
        members.append(item)


def _visible_pool(
    pool_id: PoolID, members: list[Slice], everything: Sequence[Slice], features: AllocatorFeatures
) -> DevicePool:
    """The pool as v1.34 sees it: only the slices for the node count."""
    pool = DevicePool(pool_id)
    pool.incomplete = len(members) != members[0].object.spec.pool.resource_slice_count
    members.sort(key=lambda member: member.name)
    _fill(pool, members, (), features)
    return pool


def _pool(
    pool_id: PoolID, members: list[Slice], everything: Sequence[Slice], features: AllocatorFeatures
) -> DevicePool | None:
    """The pool of the slices that a node sees; None if a newer generation is not visible to the node."""
    generation, expected = members[0].object.spec.pool.generation, members[0].object.spec.pool.resource_slice_count
    pool = DevicePool(pool_id)
    unseen: list[Slice] = []
    if len(members) != expected:
        if any(other.object.spec.pool.generation > generation for other in everything):
            return None
        current = [other for other in everything if other.object.spec.pool.generation == generation]
        if len(current) != expected:
            pool.incomplete = True
            return pool
        names = {member.name for member in members}
        unseen = [other for other in current if other.name not in names]
    members.sort(key=lambda member: member.name)
    _fill(pool, members, unseen, features)
    return pool


def _fill(pool: DevicePool, members: Sequence[Slice], unseen: Sequence[Slice], features: AllocatorFeatures) -> None:
    sharing = [member for member in members if member.object.spec.shared_counters and features.counters]
    devices = [device for member in members if member not in sharing for device in member.devices]
    sets = [counter_set for member in sharing for counter_set in member.object.spec.shared_counters]
    counters = {s.name: {name: parse(c.value) for name, c in s.counters.items()} for s in sets}
    every = [device for member in (*members, *unseen) for device in member.devices]
    duplicate = len({device.spec.name for device in devices}) < len(devices) or len(counters) < len(sets)
    if duplicate or not all(_consistent(device, counters) for device in every):
        pool.invalid = True
        return
    pool.devices = tuple(devices)
    pool.elsewhere = tuple(device for member in unseen for device in member.devices)
    pool.counters = counters


def _consistent(device: PublishedDevice, counters: CounterSets) -> bool:
    """Whether all counters that a device consumes exist."""
    return all(
        name in counters and amounts.keys() <= counters[name].keys() for name, amounts in device.consumes.items()
    )
