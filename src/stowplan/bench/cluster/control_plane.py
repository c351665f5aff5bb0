"""The control plane of the benchmark, with the objects of workloads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from time import sleep

from stowplan import api
from stowplan.bench.cluster import objects
from stowplan.bench.cluster.bulk import send_all
from stowplan.bench.cluster.objects import Written
from stowplan.bench.cluster.workload import Arriving, ClusterWorkload
from stowplan.bench.object_series import node_name
from stowplan.cluster.kubeconfig import load_connection
from stowplan.cluster.wire import collection_path
from stowplan.testing import ADMIN, ControlPlane, KubeApi, cpu_seconds

NAMESPACE = "default"
NODES = "/api/v1/nodes"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
EVENTS = f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events"

_DELETE_AT_ONCE = b'{"gracePeriodSeconds":0}'
_UNPROTECTED = b'{"metadata":{"finalizers":null}}'
_FLAGS = ("--delete-collection-workers=16",)
_REQUEST_TIMEOUT_SECONDS = 300.0


class BenchControlPlane:
    """A control plane with nodes. Objects of workloads are created and deleted; nodes are kept between workloads."""

    def __init__(self, control_plane: ControlPlane, api: KubeApi, seed: int) -> None:
        self.control_plane = control_plane
        self._api = api
        self._seed = seed
        self._connection = load_connection(str(control_plane.kubeconfig(ADMIN)))
        self._nodes = 0

    @classmethod
    @contextmanager
    def open(
        cls, seed: int, flags: tuple[str, ...] = (), runtime_config: Mapping[str, bool] | None = None
    ) -> Iterator[BenchControlPlane]:
        """With more flags of the API server, and APIs that are off by default."""
        with (
            ControlPlane(throughput=True, flags=(*_FLAGS, *flags), runtime_config=runtime_config) as control_plane,
            control_plane.client(timeout=_REQUEST_TIMEOUT_SECONDS) as api,
        ):
            yield cls(control_plane, api, seed)

    # Objects
    def set_up(self, workload: ClusterWorkload, nodes: int) -> None:
        """Create or delete nodes up to this number, and create the workload's objects other than pods."""
        self._create(NODES, objects.nodes(workload.cluster, range(self._nodes, nodes), self._seed))
        self._delete(NODES, map(node_name, range(nodes, self._nodes)))
        self._nodes = nodes
        for item in workload.objects:
            self._api.create({"apiVersion": "v1", **item})
        self._create_beside(objects.beside_nodes(workload, nodes))

    def fill(self, workload: ClusterWorkload, pods: int) -> None:
        """Create the running pods, unless they exist, and the pending ones."""
        running = list(objects.running(workload, self._nodes))
        if self._count(PODS) != len(running):
            self._delete(PODS, (name for name, _ in running))
            self._create(PODS, running)
        self._create_beside(objects.beside(workload, pods))
        self._create_beside(objects.beside_pods(workload, pods))
        self._create(PODS, objects.incoming(workload, pods))

    def create_arriving(self, series: Arriving) -> None:
        """Create the pods of the series at its interval."""
        for written in objects.arriving(series):
            self._create(PODS, [written])
            sleep(series.interval_seconds)

    def clear(self, workload: ClusterWorkload, pods: int) -> None:
        """Delete the pods to schedule, and the events."""
        self._delete(PODS, (name for name, _ in objects.incoming(workload, pods)))
        if workload.arriving is not None:
            self._delete(PODS, (name for name, _ in objects.arriving(workload.arriving)))
        self._delete_beside(objects.beside_pods(workload, pods))
        self._delete_beside(objects.beside(workload, pods))
        self._api.request("DELETE", EVENTS)

    def tear_down(self, workload: ClusterWorkload) -> None:
        """Delete the other objects of a workload, except the nodes."""
        self._delete(PODS, (name for name, _ in objects.running(workload, self._nodes)))
        self._delete_beside(objects.beside_nodes(workload, self._nodes))
        for item in workload.objects:
            meta, version = item["metadata"], item.get("apiVersion", "v1")
            self._api.delete(f"{version}/{item['kind']}", meta["name"], meta.get("namespace", NAMESPACE))

    def _create(self, path: str, written: Iterable[Written]) -> None:
        send_all(self._connection, ((b"POST", path.encode(), body) for _, body in written))

    def _delete(self, path: str, names: Iterable[str]) -> None:
        send_all(self._connection, ((b"DELETE", f"{path}/{name}".encode(), _DELETE_AT_ONCE) for name in names))

    def _create_beside(self, written: Iterable[tuple[str, Written]]) -> None:
        send_all(self._connection, ((b"POST", _path(kind).encode(), body) for kind, (_, body) in written))

    def _delete_beside(self, written: Iterable[tuple[str, Written]]) -> None:
        """Removes finalizers of schedulers first, since no controller does."""
        paths = [f"{_path(kind)}/{name}".encode() for kind, (name, _) in written]
        send_all(self._connection, ((b"PATCH", path, _UNPROTECTED) for path in paths))
        send_all(self._connection, ((b"DELETE", path, _DELETE_AT_ONCE) for path in paths))

    # Measurements
    def version(self) -> str:
        """The current resourceVersion."""
        version: str = self._api.request("GET", PODS, params={"limit": 1})["metadata"]["resourceVersion"]
        return version

    def events(self) -> int:
        """Number of events."""
        return self._count(EVENTS)

    def _count(self, path: str) -> int:
        """By remainingItemCount of a list with limit 1."""
        page = self._api.request("GET", path, params={"limit": 1})
        return len(page["items"]) + int(page["metadata"].get("remainingItemCount", 0))

    def cpu_seconds(self) -> float:
        """CPU seconds of API server and etcd so far."""
        return sum(cpu_seconds(process.pid) for process in self.control_plane.processes)


def _path(kind: str) -> str:
    found = api.KINDS[kind]
    return collection_path(found, NAMESPACE if found.namespaced else "")
