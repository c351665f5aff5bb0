"""The upper bound of any scheduler on this machine: writes bindings and events without deciding."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from itertools import cycle
from math import inf
from typing import NamedTuple

from stowplan.cluster import protobuf, wire
from stowplan.cluster.connection import Connection
from stowplan.cluster.errors import ApiError, ClusterError
from stowplan.cluster.write_client import MAX_CONNECTIONS, Writer, WriteRequest
from stowplan.engine.binding_cycle import scheduled_note

CONTROLLER = "ceiling"

_DRAIN_SECONDS = 5.0


class PodKey(NamedTuple):
    """Which pod to bind."""

    namespace: str
    name: str
    uid: str


class UpperBound(NamedTuple):
    """Time and CPU to bind all pods and to write their events."""

    pods: int
    seconds: float
    cpu_seconds: float
    """Of this process."""

    @property
    def per_second(self) -> float:
        return self.pods / self.seconds

    @property
    def cpu_us_per_pod(self) -> float:
        return self.cpu_seconds / self.pods * 1e6


async def measure_upper_bound(
    connection: Connection, pods: Sequence[PodKey], node_names: Sequence[str], connections: int = MAX_CONNECTIONS
) -> UpperBound:
    """Bind pods to nodes round robin, an event each. Raises ClusterError if the server refuses any of it."""
    run = _Run(Writer(connection, connections=connections), len(pods))
    wall, cpu = time.perf_counter(), time.process_time()
    for pod, node_name in zip(pods, cycle(node_names), strict=False):
        run.writer.submit(_Binding(run, pod, node_name))
    try:
        await run.done
        return UpperBound(len(pods), time.perf_counter() - wall, time.process_time() - cpu)
    finally:
        await run.writer.drain(0)


async def bind_as_created(connection: Connection, pods: AsyncIterator[PodKey], node_names: Sequence[str]) -> None:
    """Bind each pod as soon as it is reported, to nodes round robin, an event each, until the pods end. Raises
    ClusterError if the server refuses any of it."""
    run = _Run(Writer(connection), inf)
    nodes = cycle(node_names)
    try:
        async for pod in pods:
            run.writer.submit(_Binding(run, pod, next(nodes)))
            if run.done.done():
                await run.done
    finally:
        await run.writer.drain(_DRAIN_SECONDS)


class _Run:
    def __init__(self, writer: Writer, pods: float) -> None:
        self.writer = writer
        self.left = pods
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.common = wire.reporter(CONTROLLER, CONTROLLER, "Normal", "Scheduled", "Binding")

    def fail(self, error: ClusterError) -> None:
        if not self.done.done():
            self.done.set_exception(error)


class _Step(WriteRequest):
    """A request that is not expected to fail."""

    __slots__ = ("_run",)
    _run: _Run

    accept = protobuf.MEDIA_TYPE

    def __init__(self, run: _Run, path: bytes, body: bytes) -> None:
        super().__init__(b"POST", path, body, protobuf.MEDIA_TYPE)
        self._run = run

    def replied(self, status: int, body: bytes) -> None:
        if status < 300:
            self.go_on()
        else:
            self._run.fail(ApiError.from_reply(status, body))

    def lost(self, error: ClusterError, sent: bool) -> None:
        self._run.fail(error)

    def go_on(self) -> None:
        raise NotImplementedError


class _Binding(_Step):
    __slots__ = ("_node_name", "_pod")

    def __init__(self, run: _Run, pod: PodKey, node_name: str) -> None:
        path = wire.binding_path(pod.namespace, pod.name)
        super().__init__(run, path, wire.binding(*pod, node_name=node_name))
        self._pod = pod
        self._node_name = node_name

    def go_on(self) -> None:
        self._run.writer.submit(_Event(self._run, self._pod, self._node_name))


class _Event(_Step):
    __slots__ = ()

    def __init__(self, run: _Run, pod: PodKey, node_name: str) -> None:
        namespace = pod.namespace.encode()
        now = time.time()
        fields = wire.event(
            wire.event_name(pod.name, int(now * 1e9)),
            namespace,
            now,
            wire.pod_reference(*pod, resource_version=""),
            b"",
            scheduled_note(f"{pod.namespace}/{pod.name}", node_name),
            run.common,
        )
        super().__init__(run, wire.events_path(namespace), wire.event_body(fields))

    def go_on(self) -> None:
        self._run.left -= 1
        if not self._run.left and not self._run.done.done():
            self._run.done.set_result(None)
