"""Writes of a plugin to pods: annotations, the Binding, and events."""

from __future__ import annotations

import asyncio
import re
import socket
import time
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Protocol

from stowplan import api, logs
from stowplan.api import codec
from stowplan.cache.lru_map import LruMap
from stowplan.cluster import protobuf, wire
from stowplan.cluster.client import Client
from stowplan.cluster.connection import Connection
from stowplan.cluster.errors import ApiError, ClusterError
from stowplan.framework import Status, Write, error

log = logs.get(__name__)

_CONFLICT, _SERVER_ERROR = 409, 500
_MAX_BIND_ATTEMPTS = 3
_RETRY_SECONDS = 0.2
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
_UID = re.compile(r"[A-Za-z0-9._:-]*")
_REPORTER, _ACTION = "stowplan-extender", "Scheduling"
_REPEAT_EVENT_AFTER_SECONDS, _MAX_RECENT_EVENTS = 600.0, 4096


class SomePod(Protocol):
    """The identity of a pod, which is all that a write needs."""

    @property
    def name(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def uid(self) -> str: ...


class PodWriter:
    """Writes to the plugin's cluster. Every write applies to the pod with that uid only, and is idempotent. The methods
    return None, or a Status with the error, as extension points do.
    """

    def __init__(self, handle: Any) -> None:
        """`handle` is the plugin's; a Connection does as well."""
        self._source = handle
        self._client: Client | None = None
        self._events = _RecentEvents()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def annotate(self, pod: SomePod, annotations: Mapping[str, str | None]) -> Status | None:
        """Set annotations; None removes one. In a simulation they are set on the simulated pod. Without a cluster
        nothing is written."""
        if self._connection() is None:
            start = getattr(self._source, "start", None)
            if start is not None:
                start(_annotate(pod, annotations))
            return None
        if refused := _odd_name(pod):
            return error(f"annotating pod {pod.namespace}/{pod.name}: {refused}")
        body = codec.encode({"metadata": {"uid": pod.uid, "annotations": dict(annotations)}})
        try:
            await self._at_server().request("PATCH", _path(pod), body, content_type=wire.MERGE_PATCH.decode())
        except ClusterError as problem:
            return error(f"annotating pod {pod.namespace}/{pod.name}: {problem}")
        return None

    async def bind(self, pod: SomePod, node_name: str, annotations: Mapping[str, str] | None = None) -> Status | None:
        """Bind a pod; one that is bound to that node already is a success. Annotations are written before it, and
        removed again if the pod cannot be bound."""
        if refused := _odd_name(pod, node_name):
            return error(f"binding pod {pod.namespace}/{pod.name} to {node_name}: {refused}")
        if annotations:
            refusal = await self.annotate(pod, annotations)
            if refusal is not None:
                return refusal
        failure = await self._bind(pod, node_name)
        if failure is not None and annotations:
            undone = await self.annotate(pod, dict.fromkeys(annotations))
            if undone is not None:
                log.warning("Annotations of a pod that was not bound stay", pod=f"{pod.namespace}/{pod.name}")
        return failure

    async def record_event(self, pod: SomePod, reason: str, note: str, *, warning: bool = False) -> Status | None:
        """Write an event that `kubectl describe pod` shows; `reason` is a word such as LicencesGone. An equal event is
        not repeated for ten minutes, however often the pod is retried. Without a cluster nothing is written."""
        if self._connection() is None or not self._events.is_new((pod.uid or _path(pod), reason, note)):
            return None
        if refused := _odd_name(pod):
            return error(f"recording an event of pod {pod.namespace}/{pod.name}: {refused}")
        namespace, common = pod.namespace.encode(), self._reporter(reason, warning)
        regarding = wire.pod_reference(pod.namespace, pod.name, pod.uid, "")
        now = time.time()
        name = wire.event_name(pod.name, int(now * 1e9))
        body = wire.event_body(wire.event(name, namespace, now, regarding, b"", note, common))
        try:
            await self._post(wire.events_path(namespace), body)
        except ClusterError as problem:
            return error(f"recording an event of pod {pod.namespace}/{pod.name}: {problem}")
        return None

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def _bind(self, pod: SomePod, node_name: str) -> Status | None:
        path = wire.binding_path(pod.namespace, pod.name)
        body = wire.binding(pod.namespace, pod.name, pod.uid, node_name)
        problem: ClusterError | None = None
        for attempt in range(_MAX_BIND_ATTEMPTS):
            try:
                await self._post(path, body)
                return None
            except ClusterError as refusal:
                problem = refusal
            if isinstance(problem, ApiError) and problem.status < _SERVER_ERROR and problem.status != _CONFLICT:
                break
            # This request or an earlier one may have bound the pod.
            where = await self._find(pod)
            if where == node_name:
                return None
            if where or (isinstance(problem, ApiError) and problem.status == _CONFLICT):
                break
            if attempt + 1 < _MAX_BIND_ATTEMPTS:
                await asyncio.sleep(_RETRY_SECONDS * 2**attempt)
        message = problem.message or str(problem) if isinstance(problem, ApiError) else str(problem)
        return error(f"binding pod {pod.namespace}/{pod.name} to {node_name}: {message}")

    async def _find(self, pod: SomePod) -> str:
        """The pod's node; "" without one, if the pod is gone, or if the API server does not answer."""
        try:
            found = codec.decode(api.Pod, await self._at_server().get(_path(pod)))
        except (ClusterError, codec.DecodeError):
            return ""
        return found.spec.node_name if not pod.uid or found.metadata.uid == pod.uid else ""

    def _reporter(self, reason: str, warning: bool) -> bytes:
        type_ = "Warning" if warning else "Normal"
        return wire.reporter(_REPORTER, socket.gethostname(), type_, reason, _ACTION)

    async def _post(self, path: bytes, message: bytes) -> None:
        await self._at_server().request("POST", path.decode(), message, content_type=protobuf.MEDIA_TYPE.decode())

    def _at_server(self) -> Client:
        """A client belongs to the event loop that it is used on."""
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            connection = self._connection()
            if connection is None:
                raise NoClusterError
            self._client, self._loop = Client(connection), loop
        return self._client

    def _connection(self) -> Connection | None:
        source = self._source
        return source if isinstance(source, Connection) else getattr(source, "connection", None)


class _RecentEvents:
    """Recent events, to suppress repetitions."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._recorded_at: LruMap[Hashable, float] = LruMap(_MAX_RECENT_EVENTS)

    def is_new(self, what: Hashable) -> bool:
        """Whether no equal event was recorded recently; records it."""
        now = self._clock()
        recorded_at = self._recorded_at.peek(what)
        if recorded_at is not None and now - recorded_at < _REPEAT_EVENT_AFTER_SECONDS:
            return False
        self._recorded_at.put(what, now)
        return True


class NoClusterError(ClusterError):
    """The plugin has no cluster to write to."""

    def __init__(self) -> None:
        super().__init__("there is no cluster to write to; name one by --kubeconfig")


async def _annotate(pod: SomePod, annotations: Mapping[str, str | None]) -> None:
    """The write as an instruction for the engine's host."""
    named = api.Pod(metadata=api.ObjectMeta(name=pod.name, namespace=pod.namespace, uid=pod.uid))
    await Write("patch", "Pod", named, {"metadata": {"annotations": dict(annotations)}})


def _odd_name(pod: SomePod, *nodes: str) -> str:
    """Why a name is not a valid Kubernetes name; "" if all are valid. Names come from requests and become part of URLs
    and JSON, so they are checked against injection."""
    odd = [name for name in (pod.namespace, pod.name, *nodes) if not _NAME.fullmatch(name)]
    if not _UID.fullmatch(pod.uid):
        odd.append(pod.uid)
    return f"not a name: {odd[0]!r:.100}" if odd else ""


def _path(pod: SomePod) -> str:
    return wire.pod_path(pod.namespace, pod.name).decode()
