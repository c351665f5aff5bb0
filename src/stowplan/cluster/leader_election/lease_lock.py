"""The lock of leader election: a Lease at the API server.

Upstream: k8s.io/client-go/tools/leaderelection/resourcelock/leaselock.go
"""

from typing import Any, Protocol

from stowplan.api import LeaseSpec, codec
from stowplan.api.kinds import KINDS
from stowplan.cluster.client import Client
from stowplan.cluster.errors import ApiError, ClusterError
from stowplan.cluster.wire import collection_path, object_path

_LEASE = KINDS["Lease"]


class Lock(Protocol):
    """Storage of the lease. Methods raise ClusterError, also on a conflict."""

    async def read(self) -> LeaseSpec | None:
        """The lease; None if it does not exist."""
        ...

    async def create(self, spec: LeaseSpec) -> None:
        """Create the lease."""
        ...

    async def update(self, spec: LeaseSpec) -> None:
        """Replace the lease that was read or written last."""
        ...

    async def record_event(self, note: str) -> None:
        """Record an event about the lease."""
        ...


class LeaseLock:
    """A Lease object."""

    def __init__(self, client: Client, namespace: str, name: str, *, component: str, timeout: float) -> None:
        """`component` is the reporter of events; `timeout` limits each request."""
        self.name = f"{namespace}/{name}"
        self._client = client
        self._component = component
        self._timeout = timeout
        self._meta = {"namespace": namespace, "name": name}
        self._collection = collection_path(_LEASE, namespace)
        self._path = object_path(_LEASE, name, namespace)
        self._lease: dict[str, Any] = {}
        """The whole object, so that an update keeps other fields."""

    async def read(self) -> LeaseSpec | None:
        try:
            return self._keep(await self._client.request("GET", self._path, timeout=self._timeout))
        except ApiError as error:
            if error.status != 404:
                raise
            return None

    async def create(self, spec: LeaseSpec) -> None:
        lease = {"apiVersion": _LEASE.api_version, "kind": _LEASE.name, "metadata": self._meta}
        await self._write("POST", self._collection, lease, spec)

    async def update(self, spec: LeaseSpec) -> None:
        await self._write("PUT", self._path, self._lease, spec)

    async def record_event(self, note: str) -> None:
        meta = self._lease.get("metadata", self._meta)
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"namespace": self._meta["namespace"], "generateName": f"{self._meta['name']}."},
            "involvedObject": {
                "apiVersion": _LEASE.api_version,
                "kind": _LEASE.name,
                **{field: meta[field] for field in ("namespace", "name", "uid", "resourceVersion") if field in meta},
            },
            "reason": "LeaderElection",
            "message": note,
            "type": "Normal",
            "source": {"component": self._component},
            "reportingComponent": self._component,
        }
        path = f"/api/v1/namespaces/{self._meta['namespace']}/events"
        await self._client.request("POST", path, codec.encode(event), timeout=self._timeout)

    async def _write(self, method: str, path: str, lease: dict[str, Any], spec: LeaseSpec) -> None:
        body = codec.encode({**lease, "spec": spec})
        self._keep(await self._client.request(method, path, body, timeout=self._timeout))

    def _keep(self, body: bytes) -> LeaseSpec:
        try:
            self._lease = codec.whole(body)
            return codec.convert(LeaseSpec, self._lease.get("spec") or {})
        except codec.DecodeError as error:
            raise ClusterError(f"lease {self.name}: {error}") from error
