"""All ResourceSlices, and the pools of each node, gathered again only after changes.

Upstream: k8s.io/dynamic-resource-allocation/structured/internal/incubating/pools_incubating.go (GatherPools)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stowplan import api
from stowplan import framework as fwk
from stowplan.cache import Store
from stowplan.plugins.dynamic_resources.allocation.allocated import PoolID
from stowplan.plugins.dynamic_resources.allocation.devices import Slice
from stowplan.plugins.dynamic_resources.allocation.features import ALL_FEATURES, AllocatorFeatures
from stowplan.plugins.dynamic_resources.allocation.pools import NodePools, gather


class Inventory:
    """Follows the store of slices."""

    def __init__(self, store: Store[api.ResourceSlice], features: AllocatorFeatures = ALL_FEATURES) -> None:
        self._store = store
        self._features = features
        self._version = -1
        self._slices: dict[str, Slice] = {}
        self._local: dict[str, list[Slice]] = {}
        self._common: list[Slice] = []
        self._by_pool: dict[PoolID, list[Slice]] = {}
        self._pools: dict[str, tuple[Mapping[str, str], NodePools | str]] = {}
        self._users: dict[PoolID, set[str]] = {}
        self.position = 0
        """Grows when the pools of a node may have changed."""

    def pools(self, node: fwk.NodeInfo) -> NodePools | str:
        """The pools of a node, the same object while they do not change; a text is their error."""
        self.refresh()
        known = self._pools.get(node.name)
        if known is not None and (known[0] is node.labels or (not self._common or known[0] == node.labels)):
            return known[1]
        found = gather((*self._local.get(node.name, ()), *self._common), node, self._by_pool, self._features)
        self._pools[node.name] = (node.labels, found)
        for pool in () if isinstance(found, str) else found.ids:
            self._users.setdefault(pool, set()).add(node.name)
        return found

    def nodes_using(self, pool: PoolID) -> Iterable[str]:
        """Names of the nodes that the pool was ever gathered for."""
        return self._users.get(pool, ())

    def refresh(self) -> None:
        if self._version == self._store.version:
            return
        self._version = self._store.version
        stored = self._store.items()
        changed = {
            name for name, item in stored.items() if name not in self._slices or self._slices[name].object is not item
        }
        gone = self._slices.keys() - stored.keys()
        if not changed and not gone:
            return
        touched = [item for name, item in self._slices.items() if name in changed or name in gone]
        # In the store's order, whatever order changes came in: the search takes the first devices that fit.
        self._slices = {
            name: Slice(item, self._features) if name in changed else self._slices[name]
            for name, item in stored.items()
        }
        touched += [item for name, item in self._slices.items() if name in changed]
        self._index()
        self._forget(touched)
        self.position += 1

    def _index(self) -> None:
        self._local, self._common, self._by_pool = {}, [], {}
        for item in self._slices.values():
            self._by_pool.setdefault(item.pool_id, []).append(item)
            if item.local_to:
                self._local.setdefault(item.local_to, []).append(item)
            else:
                self._common.append(item)
        self._users = {pool: names for pool, names in self._users.items() if pool in self._by_pool}

    def _forget(self, touched: list[Slice]) -> None:
        """Drop the pools of the nodes that changes concern."""
        if not all(item.local_to for item in touched):
            self._pools.clear()
            return
        for item in touched:
            self._pools.pop(item.local_to, None)
            for other in self._by_pool.get(item.pool_id, ()):
                if other.local_to:
                    self._pools.pop(other.local_to, None)
                else:
                    self._pools.clear()
