"""What a plugin writes to pods when one is bound: annotations, and the Binding itself."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol

from stowplan import api
from stowplan.api import codec
from stowplan.cluster import bodies
from stowplan.cluster.client import Client
from stowplan.cluster.connection import Connection
from stowplan.cluster.errors import ApiError, ClusterError
from stowplan.framework import Status, Write, error
from stowplan.observe import logs

log = logs.get(__name__)

_CONFLICT, _SERVER_ERROR = 409, 500
_ATTEMPTS = 3
_PAUSE = 0.2


class SomePod(Protocol):
    """Anything that says which pod it is: all that a write has to know of it."""

    @property
    def name(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def uid(self) -> str: ...


class PodWriter:
    """Writes to the cluster that the plugin serves. Every write holds for the pod of that uid alone, and may be
    repeated. The methods answer None, or a Status that tells what went wrong, as extension points do.
    """

    def __init__(self, handle: Any) -> None:
        """`handle` is the plugin's; a Connection does as well."""
        self._source = handle
        self._client: Client | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def annotate(self, pod: SomePod, annotations: Mapping[str, str | None]) -> Status | None:
        """Set annotations; None removes one. In a simulation the simulated pod gets them; where there is neither that
        nor a cluster, nothing is written."""
        if self._connection() is None:
            start = getattr(self._source, "start", None)
            if start is not None:
                start(_annotate(pod, annotations))
            return None
        body = codec.encode({"metadata": {"uid": pod.uid, "annotations": dict(annotations)}})
        try:
            await self._at_server().request("PATCH", _path(pod), body, content_type=bodies.MERGE_PATCH.decode())
        except ClusterError as problem:
            return error(f"annotating pod {pod.namespace}/{pod.name}: {problem}")
        return None

    async def bind(self, pod: SomePod, node_name: str, annotations: Mapping[str, str] | None = None) -> Status | None:
        """Bind a pod; one that is bound to that node already is a success. Annotations are written before it, and
        removed again if the pod cannot be bound."""
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

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def _bind(self, pod: SomePod, node_name: str) -> Status | None:
        path = bodies.binding_path(pod.namespace, pod.name).decode()
        body = bodies.binding(pod.namespace, pod.name, pod.uid, node_name)
        problem: ClusterError | None = None
        for attempt in range(_ATTEMPTS):
            try:
                await self._at_server().request("POST", path, body)
                return None
            except ClusterError as refusal:
                problem = refusal
            if isinstance(problem, ApiError) and problem.status < _SERVER_ERROR and problem.status != _CONFLICT:
                break
            # It may have happened all the same, now or by an earlier request.
            where = await self._find(pod)
            if where == node_name:
                return None
            if where or (isinstance(problem, ApiError) and problem.status == _CONFLICT):
                break
            if attempt + 1 < _ATTEMPTS:
                await asyncio.sleep(_PAUSE * 2**attempt)
        told = problem.message or str(problem) if isinstance(problem, ApiError) else str(problem)
        return error(f"binding pod {pod.namespace}/{pod.name} to {node_name}: {told}")

    async def _find(self, pod: SomePod) -> str:
        """The node that the pod is on; empty if on none, if it is gone, or if nobody answers."""
        try:
            found = codec.decode(api.Pod, await self._at_server().get(_path(pod)))
        except (ClusterError, codec.DecodeError):
            return ""
        return found.spec.node_name if not pod.uid or found.metadata.uid == pod.uid else ""

    def _at_server(self) -> Client:
        """A client belongs to the event loop that it is used on."""
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            connection = self._connection()
            if connection is None:
                raise NoCluster
            self._client, self._loop = Client(connection), loop
        return self._client

    def _connection(self) -> Connection | None:
        source = self._source
        return source if isinstance(source, Connection) else getattr(source, "connection", None)


class NoCluster(ClusterError):
    """There is nothing to write to."""

    def __init__(self) -> None:
        super().__init__("there is no cluster to write to; name one by --kubeconfig")


async def _annotate(pod: SomePod, annotations: Mapping[str, str | None]) -> None:
    """As a request to whoever runs the engine."""
    named = api.Pod(metadata=api.ObjectMeta(name=pod.name, namespace=pod.namespace, uid=pod.uid))
    await Write("patch", "Pod", named, {"metadata": {"annotations": dict(annotations)}})


def _path(pod: SomePod) -> str:
    return bodies.pod_path(pod.namespace, pod.name).decode()
