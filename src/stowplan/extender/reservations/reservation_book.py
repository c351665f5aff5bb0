"""All reservations of a server's plugins: who is told when pods are filtered anew, bound or gone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stowplan.cluster.connection import Connection
from stowplan.extender.reservations.pod_writer import PodWriter
from stowplan.extender.reservations.reservations import Reservations
from stowplan.framework import Plugin, Pod, Status


class ReservationBook:
    """The reservations that plugins keep as attributes."""

    def __init__(self, connection: Connection | None = None) -> None:
        """`connection` is where pods are bound."""
        self.writer = PodWriter(connection)
        self._kept: list[tuple[str, Reservations[Any]]] = []
        """With the plugin's name."""

    def adopt(self, plugin: Plugin) -> None:
        """Look after the reservations that this plugin keeps as attributes."""
        self._kept += [(plugin.name, value) for value in vars(plugin).values() if isinstance(value, Reservations)]

    def restart(self, pod: Pod) -> None:
        """The scheduler begins anew with a pod: what it was promised did not come to pass."""
        self.gone(pod.uid)

    def gone(self, uid: str) -> None:
        """A pod was deleted."""
        for _, reservations in self._kept:
            reservations.release(uid)

    def bound(self, uid: str) -> None:
        """A pod was seen on a node."""
        for _, reservations in self._kept:
            reservations.confirm(uid)

    async def bind(self, pod: Pod, node_name: str) -> Status | None:
        """Write the Binding; None is success, also where the pod is on that node already."""
        return await self.writer.bind(pod, node_name)

    def clear(self) -> None:
        """Another replica holds from now on."""
        for _, reservations in self._kept:
            reservations.clear()

    def count(self) -> Mapping[str, int]:
        """How many there are, by plugin."""
        counts: dict[str, int] = {}
        for plugin, reservations in self._kept:
            counts[plugin] = counts.get(plugin, 0) + len(reservations)
        return counts

    def ended(self) -> Mapping[tuple[str, ...], float]:
        """How many ended, by plugin and how."""
        counts: dict[tuple[str, ...], float] = {}
        for plugin, reservations in self._kept:
            for how, number in reservations.ended.items():
                counts[plugin, how] = counts.get((plugin, how), 0) + number
        return counts
