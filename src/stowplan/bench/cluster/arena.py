"""The control plane that contestants meet on, and what is on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic, sleep

from stowplan.bench.cluster.bulk import Request, send_all
from stowplan.bench.cluster.objects import incoming_bodies, node_bodies, running_bodies
from stowplan.bench.cluster.workload import Workload
from stowplan.bench.nodes import node_name
from stowplan.cluster.kubeconfig import load_connection
from stowplan.testing import ADMIN, ControlPlane, KubeApi, Refused, cpu_seconds

NAMESPACE = "default"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
EVENTS = f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events"

_NODES = b"/api/v1/nodes"
_FLAGS = ("--delete-collection-workers=16",)
_REQUEST_TIMEOUT = 300.0
_QUIET_SHARE, _QUIET_LOOK, _QUIET_LOOKS = 0.15, 0.5, 20


class Arena:
    """A control plane with nodes on it. Objects of a workload come and go, nodes stay as far as they are the same."""

    def __init__(self, control_plane: ControlPlane, api: KubeApi, seed: int) -> None:
        self.control_plane = control_plane
        self._api = api
        self._seed = seed
        self._connection = load_connection(str(control_plane.kubeconfig(ADMIN)))
        self._nodes = 0

    @classmethod
    @contextmanager
    def open(cls, seed: int) -> Iterator[Arena]:
        with (
            ControlPlane(throughput=True, flags=_FLAGS) as control_plane,
            control_plane.client(timeout=_REQUEST_TIMEOUT) as api,
        ):
            yield cls(control_plane, api, seed)

    # What is there
    def set_nodes(self, workload: Workload, count: int) -> None:
        """Have so many nodes."""
        more = node_bodies(workload.cluster, range(self._nodes, count), self._seed)
        send_all(self._connection, ((b"POST", _NODES, body) for body in more))
        fewer = (node_name(number).encode() for number in range(count, self._nodes))
        send_all(self._connection, ((b"DELETE", b"%b/%b" % (_NODES, name), b"") for name in fewer))
        self._nodes = count

    def add_objects(self, workload: Workload) -> None:
        for item in workload.objects:
            self._api.create({"apiVersion": "v1", **item})

    def add_running(self, workload: Workload) -> int:
        return send_all(self._connection, _posts(running_bodies(workload, self._nodes)))

    def add_incoming(self, workload: Workload, count: int) -> int:
        return send_all(self._connection, _posts(incoming_bodies(workload, count)))

    def clear_pods(self) -> None:
        """Delete all pods and events."""
        for path in (PODS, EVENTS):
            self._api.request("DELETE", path, {"gracePeriodSeconds": 0})

    def remove_objects(self, workload: Workload) -> None:
        for item in workload.objects:
            meta = item["metadata"]
            kind = f"{item.get('apiVersion', 'v1')}/{item['kind']}"
            with suppress(Refused):
                self._api.delete(kind, meta["name"], meta.get("namespace", NAMESPACE))

    # How it goes
    def version(self) -> str:
        """The resourceVersion of the present state."""
        version: str = self._api.request("GET", PODS, params={"limit": 1})["metadata"]["resourceVersion"]
        return version

    def events(self) -> int:
        """How many events there are; the server counts them without reading them."""
        page = self._api.request("GET", EVENTS, params={"limit": 1})
        return len(page["items"]) + int(page["metadata"].get("remainingItemCount", 0))

    def server_cpu_seconds(self) -> float:
        return sum(cpu_seconds(process.pid) for process in self.control_plane.processes)

    def settle(self) -> None:
        """Wait until the control plane has little to do, though not for ever."""
        for _ in range(_QUIET_LOOKS):
            spent, since = self.server_cpu_seconds(), monotonic()
            sleep(_QUIET_LOOK)
            if self.server_cpu_seconds() - spent < _QUIET_SHARE * (monotonic() - since):
                return


def _posts(bodies: Iterator[bytes]) -> Iterator[Request]:
    path = PODS.encode()
    return ((b"POST", path, body) for body in bodies)
