"""What-ifs: pods added to or removed from nodes for a dry run, and rolled back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stowplan.framework import NodeInfo, Pod

if TYPE_CHECKING:
    from stowplan.cache.cluster import Cluster, Footprint
    from stowplan.cache.selection import PodClass


class Journal:
    """Changes over any nodes, with mark and rollback.

    The changes are made in the live columns and counts, so both forms of every plugin see them. They are not logged, so
    kept answers do not see them. The caller rolls a what-if back before the cycle goes on. Rollback also restores the
    order of a node's pods, which decides ties between victims.
    """

    __slots__ = ("_cluster", "_entries", "_orders")

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._entries: list[tuple[Pod, NodeInfo, int, list[int]]] = []
        self._orders: list[tuple[int, NodeInfo, dict[str, Pod]]] = []

    @property
    def active(self) -> bool:
        return bool(self._entries)

    def mark(self) -> int:
        return len(self._entries)

    def add(self, pod: Pod, info: NodeInfo) -> None:
        self._record(pod, info, 1)

    def remove(self, pod: Pod, info: NodeInfo) -> None:
        self._orders.append((len(self._entries), info, dict(info.pods)))
        self._record(pod, info, -1)

    def moves(self) -> Iterator[tuple[PodClass, int, int]]:
        """(class of the pod, slot, 1 or -1) of each change, for counts that begin during a what-if."""
        for pod, info, sign, _ in self._entries:
            footprint: Footprint = pod.template.footprint
            yield footprint.pod_class, info.slot, sign

    def rollback(self, mark: int) -> None:
        while len(self._entries) > mark:
            pod, info, sign, ports = self._entries.pop()
            self._cluster.shift(pod, info, -sign, what_if=True)
            footprint: Footprint = pod.template.footprint  # Made when the pod was recorded.
            if ports:
                self._cluster.ports.restore(footprint.ports, info.slot, ports)
            if footprint.claims:
                self._cluster.shift_claims(footprint.claims, -sign)
            if self._orders and self._orders[-1][0] == len(self._entries):
                info.residents.clear()
                info.residents.update(self._orders.pop()[2])

    def _record(self, pod: Pod, info: NodeInfo, sign: int) -> None:
        self._cluster.shift(pod, info, sign, what_if=True)
        footprint = self._cluster.footprint(pod.template)
        ports = footprint.ports
        if footprint.claims:
            self._cluster.shift_claims(footprint.claims, sign)
        before = self._cluster.ports.override(ports, info.slot, sign > 0) if ports else []
        self._entries.append((pod, info, sign, before))
