"""Reservations of a plugin for pods that are not bound yet."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from stowplan.framework import NodeInfo, Pod

V = TypeVar("V")

EXPIRED, CONFIRMED, RELEASED, REPLACED = "expired", "confirmed", "released", "replaced"
"""How a reservation ends: too long ago, the pod is on its node, given back, or overtaken by another for the pod."""


@dataclass(frozen=True, slots=True)
class Reservation(Generic[V]):
    """Something on a node that is meant for one pod."""

    uid: str
    node_name: str
    value: V
    expires: float
    assumed: bool = False
    """Whether the scheduler counted the pod on the node already when this was made."""


class Reservations(Generic[V]):
    """Reservations by pod uid, at most one per pod. Keep it as an attribute of the plugin.

        self.held = Reservations[int](handle)              # in __init__
        taken = self.held.on(node)                         # in filter: reservations of other pods on the node
        gpu = self.held.claim(pod, node, self.pick_gpu)    # in reserve: choose and reserve atomically
        self.held.release(pod.uid)                         # in unreserve

    A reservation ends when the pod is observed on its node, when it is released, or after some seconds. An extender
    also releases it when the pod is deleted or filtered again. Thread-safe.
    """

    def __init__(
        self, handle: Any = None, *, seconds: float = 60.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`handle` is the plugin's; it knows which pods are only assumed on a node."""
        self.ended = dict.fromkeys((EXPIRED, CONFIRMED, RELEASED, REPLACED), 0)
        """How many ended, and how."""
        self._handle = handle
        self._seconds = seconds
        self._clock = clock
        self._lock = threading.RLock()
        self._by_uid: dict[str, Reservation[V]] = {}
        self._by_node: dict[str, dict[str, Reservation[V]]] = {}

    def __len__(self) -> int:
        with self._lock:
            self._expire()
            return len(self._by_uid)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Excludes other reservations and releases."""
        with self._lock:
            yield

    def claim(self, pod: Pod, node: NodeInfo, choose: Callable[[Mapping[str, V]], V | None]) -> V | None:
        """Choose by the reservations of other pods on the node and reserve the choice, atomically.

        `choose` receives the values by pod uid, without this pod's own; if it returns None, nothing is reserved.
        """
        with self._lock:
            others = self.on(node)
            others.pop(pod.uid, None)
            value = choose(others)
            if value is not None:
                self.reserve(pod.uid, node.name, value)
            return value

    def reserve(self, uid: str, node_name: str, value: V) -> None:
        """Reserve a value for the pod, replacing its earlier reservation."""
        with self._lock:
            self._end(uid, REPLACED)
            assumed = self._handle is not None and uid in self._handle.cluster.assumed
            made = Reservation(uid, node_name, value, self._clock() + self._seconds, assumed)
            self._by_uid[uid] = made
            self._by_node.setdefault(node_name, {})[uid] = made

    def release(self, uid: str) -> None:
        """Release the pod's reservation, if any."""
        with self._lock:
            self._end(uid, RELEASED)

    def confirm(self, uid: str) -> None:
        """The pod is on its node; from now on the node's pods show what it uses."""
        with self._lock:
            self._end(uid, CONFIRMED)

    def of(self, uid: str) -> Reservation[V] | None:
        """The pod's reservation."""
        with self._lock:
            self._expire()
            return self._by_uid.get(uid)

    def on(self, node: NodeInfo) -> dict[str, V]:
        """Reservations on a node by pod uid, without pods that are known to run there."""
        with self._lock:
            self._expire()
            held = self._by_node.get(node.name)
            if not held:
                return {}
            for reservation in list(held.values()):
                self._end_if_settled(reservation, node)
            # A pod that is assumed and missing on the node was removed by a what-if.
            return {uid: each.value for uid, each in held.items() if not each.assumed or uid in node.pods}

    def node_names(self) -> Collection[str]:
        """The nodes with reservations."""
        with self._lock:
            self._expire()
            return tuple(self._by_node)

    def clear(self) -> None:
        """Release everything."""
        with self._lock:
            for uid in list(self._by_uid):
                self._end(uid, RELEASED)

    def _end_if_settled(self, reservation: Reservation[V], node: NodeInfo) -> None:
        """Whether the pod is known to run; then the node's pods show what it uses. An assumed pod may be forgotten."""
        uid = reservation.uid
        cluster = None if self._handle is None else self._handle.cluster
        if uid in node.pods:
            if cluster is None or uid not in cluster.assumed:
                self._end(uid, CONFIRMED)
        elif reservation.assumed and cluster is not None and uid not in cluster.pods:
            self._end(uid, RELEASED)

    def _expire(self) -> None:
        """All have the same lifetime, so the oldest expire first."""
        now = self._clock()
        while self._by_uid:
            oldest = next(iter(self._by_uid.values()))
            if oldest.expires > now:
                return
            self._end(oldest.uid, EXPIRED)

    def _end(self, uid: str, how: str) -> None:
        reservation = self._by_uid.pop(uid, None)
        if reservation is None:
            return
        on_node = self._by_node[reservation.node_name]
        del on_node[uid]
        if not on_node:
            del self._by_node[reservation.node_name]
        self.ended[how] += 1
