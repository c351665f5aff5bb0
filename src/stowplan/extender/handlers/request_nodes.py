"""The cluster of an extender without an informer cache: nodes are added from the requests that carry them."""

from __future__ import annotations

from collections.abc import Iterable

from stowplan.api import Node, ObjectMeta
from stowplan.cache import Cluster
from stowplan.extender.wire.node_lists import RawNode

_EXPIRE_AFTER_SECONDS = 600.0
_EXPIRY_CHECK_SECONDS = 60.0


class RequestNodes:
    """Adds the nodes of requests to a cluster. A node that no request has contained for ten minutes is removed."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.known: dict[bytes, RawNode] = {}
        """By name as encoded in JSON, for the parser of requests."""
        self._seen_at: dict[str, float] = {}
        self._checked_at = 0.0

    def add(self, nodes: list[RawNode], fresh: list[RawNode], now: float) -> None:
        """Add the nodes of a request; `fresh` are those whose bytes have changed."""
        for raw in fresh:
            self._put(raw)
        self._seen((node.name for node in nodes), now)

    def add_names(self, names: Iterable[str], now: float) -> None:
        """Add nodes of which a request has the names alone."""
        known = self._cluster.nodes.slot_of
        for name in names:
            if name not in known:
                self._cluster.put_node(Node(metadata=ObjectMeta(name=name)))
                self._seen_at[name] = now
        self._seen(names, now)

    def _seen(self, names: Iterable[str], now: float) -> None:
        if now - self._checked_at >= _EXPIRY_CHECK_SECONDS:
            self._checked_at = now
            self._seen_at.update((name, now) for name in names)
            self._expire(now - _EXPIRE_AFTER_SECONDS)

    def _put(self, raw: RawNode) -> None:
        cluster = self._cluster
        before = cluster.nodes.get(raw.name)
        old = None if before is None else before.node
        info = cluster.put_node(raw.node, raw.raw if cluster.keep_objects else None)
        if old is not None and old.status.conditions != info.node.status.conditions:
            # The cache ignores conditions, which no in-tree plugin reads; out-of-tree plugins may.
            cluster.nodes.note_change(info.slot)
        raw.forget_parsed()
        self.known[raw.name.encode()] = raw
        self._seen_at.setdefault(raw.name, self._checked_at)

    def _expire(self, before: float) -> None:
        for name in [name for name, seen_at in self._seen_at.items() if seen_at < before]:
            del self._seen_at[name]
            self.known.pop(name.encode(), None)
            self._cluster.remove_node(name)
