"""Nodes that came in full with requests, kept so that the next request need not bring them again."""

from __future__ import annotations

from collections.abc import Iterable

from stowplan.api import Node, ObjectMeta
from stowplan.cache import Cluster
from stowplan.extender.wire.node_lists import RawNode

_FORGET_AFTER = 600.0
_LOOK_EVERY = 60.0


class RequestNodes:
    """Feeds a cluster with the nodes of requests. A node that no request has brought for ten minutes is gone."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.known: dict[bytes, RawNode] = {}
        """By name as it stands in JSON, for the reader of requests."""
        self._seen_at: dict[str, float] = {}
        self._looked_at = 0.0

    def take(self, nodes: list[RawNode], fresh: list[RawNode], now: float) -> None:
        """A request brought these nodes; of those that are `fresh` something has changed."""
        for raw in fresh:
            self._put(raw)
        self._seen((node.name for node in nodes), now)

    def take_names(self, names: Iterable[str], now: float) -> None:
        """A request brought nothing but names."""
        known = self._cluster.nodes.slot_of
        for name in names:
            if name not in known:
                self._cluster.put_node(Node(metadata=ObjectMeta(name=name)))
                self._seen_at[name] = now
        self._seen(names, now)

    def _seen(self, names: Iterable[str], now: float) -> None:
        if now - self._looked_at >= _LOOK_EVERY:
            self._looked_at = now
            self._seen_at.update((name, now) for name in names)
            self._forget(now - _FORGET_AFTER)

    def _put(self, raw: RawNode) -> None:
        cluster = self._cluster
        before = cluster.nodes.get(raw.name)
        old = None if before is None else before.node
        info = cluster.put_node(raw.node, raw.raw if cluster.keep_objects else None)
        if old is not None and old.status.conditions != info.node.status.conditions:
            # The cache takes no notice of conditions, which no plugin of the tree reads; others may.
            cluster.nodes.node_log.append(info.slot)
            cluster.nodes.log.append(info.slot)
        raw.forget_parsed()
        self.known[raw.name.encode()] = raw
        self._seen_at.setdefault(raw.name, self._looked_at)

    def _forget(self, before: float) -> None:
        for name in [name for name, seen_at in self._seen_at.items() if seen_at < before]:
            del self._seen_at[name]
            self.known.pop(name.encode(), None)
            self._cluster.remove_node(name)
