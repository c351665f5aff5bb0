"""All reservations of a server's plugins, updated when pods are filtered again, bound or deleted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stowplan.cluster.connection import Connection
from stowplan.extender.reservations.pod_writer import PodWriter
from stowplan.framework import Plugin, Pod, Status
from stowplan.framework.reservations import Reservations


class ReservationBook:
    """The `Reservations` attributes of all plugins."""

    def __init__(self, connection: Connection | None = None) -> None:
        """`connection` is where pods are bound."""
        self.writer = PodWriter(connection)
        self._reservations: list[tuple[str, Reservations[Any]]] = []
        """With the names of their plugins."""

    def adopt(self, plugin: Plugin) -> None:
        """Register the plugin's `Reservations` attributes."""
        self._reservations += [
            (plugin.name, value) for value in vars(plugin).values() if isinstance(value, Reservations)
        ]

    def restart(self, pod: Pod) -> None:
        """A new scheduling attempt of the pod: its reservations are released."""
        self.gone(pod.uid)

    def gone(self, uid: str) -> None:
        """The pod was deleted."""
        for _, reservations in self._reservations:
            reservations.release(uid)

    def bound(self, uid: str) -> None:
        """The pod was observed on a node."""
        for _, reservations in self._reservations:
            reservations.confirm(uid)

    async def annotate(self, pod: Pod, annotations: Mapping[str, str]) -> Status | None:
        """Set annotations of the pod; None is success."""
        return await self.writer.annotate(pod, annotations)

    async def bind(self, pod: Pod, node_name: str) -> Status | None:
        """Write the Binding; None is success, also if the pod is on that node already."""
        return await self.writer.bind(pod, node_name)

    def clear(self) -> None:
        """Another replica is the leader."""
        for _, reservations in self._reservations:
            reservations.clear()

    def count(self) -> Mapping[str, int]:
        """Number of reservations by plugin."""
        counts: dict[str, int] = {}
        for plugin, reservations in self._reservations:
            counts[plugin] = counts.get(plugin, 0) + len(reservations)
        return counts

    def ended(self) -> Mapping[tuple[str, ...], float]:
        """Number of ended reservations by plugin and reason."""
        counts: dict[tuple[str, ...], float] = {}
        for plugin, reservations in self._reservations:
            for how, number in reservations.ended.items():
                counts[plugin, how] = counts.get((plugin, how), 0) + number
        return counts
