"""An audit: watches pods and nodes and records violations of what every scheduler has to keep to."""

import threading
import time
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from tests.builders import Json
from tests.e2e.watching import ClusterWatch

from stowplan.testing import KubeApi, SurroundingsError, wait_until

_Wants = Counter[str]


class _Resident(NamedTuple):
    """A pod on a node."""

    key: str
    ours: bool
    since: float
    wants: _Wants


class Audit(ClusterWatch):
    """Follows pods and nodes for the length of a `with`.

    bound      the node of every pod that has one, by namespace/name
    problems   pods whose node changed, and nodes that a pod of one of our schedulers was added to without room for it
    """

    def __init__(self, api: KubeApi, *, ours: Iterable[str] = ("default-scheduler",), grace: float = 0.0) -> None:
        """`ours` are the audited schedulers. They may overlook what other schedulers bound, and that nodes became
        smaller, for `grace` seconds."""
        self.bound: dict[str, str] = {}
        self.problems: list[str] = []
        self.seen = 0
        """Number of bindings seen, of all schedulers."""
        self.last_seen = 0.0
        """Wall-clock time of the latest binding."""
        self._ours = frozenset(ours)
        self._grace = grace
        self._rooms: dict[str, list[tuple[float, _Wants]]] = {}
        """By node, its allocatable amounts and since when, as far back as the grace period."""
        self._pods: dict[str, dict[str, _Resident]] = {}
        """By node, the pods there by uid."""
        self._homes: dict[str, str] = {}
        self._lock = threading.Lock()
        super().__init__(api, ("Node", self._note_node), ("Pod", self._note_pod))

    def start_anew(self) -> None:
        """Wait until the cluster is seen to be empty, as between two tests, and reset counts and problems."""
        wait_until(lambda: not self.bound and not self._rooms, what="an empty cluster")
        with self._lock:
            self.problems.clear()
            self.seen = 0

    def wait_for_all(self, namespace: str, count: int, *, timeout: float = 60.0) -> dict[str, str]:
        """Wait until this many pods of a namespace are bound, by the watch and by the server's list, and return their
        nodes by name. Fails if a problem was recorded."""

        def mine() -> dict[str, str]:
            with self._lock:
                found = [(key.split("/"), node) for key, node in self.bound.items()]
            return {name: node for (place, name), node in found if place == namespace}

        try:
            wait_until(lambda: len(mine()) >= count and mine() == self._api.bound_pods(namespace), timeout=timeout)
        except SurroundingsError:
            unbound = [pod for pod in self._api.list("Pod", namespace) if not pod["spec"].get("nodeName")]
            examples = "\n".join(f"{pod['metadata']['name']}: {pod['status']}" for pod in unbound[:5])
            raise AssertionError(f"{len(unbound)} of {count} pods were never bound, such as\n{examples}") from None
        assert not self.problems
        return mine()

    def _listed(self, kind: str, items: list[Json]) -> None:
        there = {item["metadata"]["uid" if kind == "Pod" else "name"] for item in items}
        with self._lock:
            if kind == "Node":
                self._rooms = {name: rooms for name, rooms in self._rooms.items() if name in there}
            else:
                for uid in self._homes.keys() - there:
                    self._forget(uid)

    def _note_node(self, type_: str, node: Json) -> None:
        name, room, now = node["metadata"]["name"], node["status"]["allocatable"], time.monotonic()
        with self._lock:
            if type_ == "DELETED":
                self._rooms.pop(name, None)
                return
            self._rooms.setdefault(name, []).append((now, Counter(cpu=_milli(room["cpu"]), pods=int(room["pods"]))))

    def _note_pod(self, type_: str, pod: Json) -> None:
        meta, spec = pod["metadata"], pod["spec"]
        key, uid, home = f"{meta['namespace']}/{meta['name']}", meta["uid"], spec.get("nodeName", "")
        with self._lock:
            before = self._homes.get(uid, "")
            if before and home != before:
                self.problems.append(f"{key} was on {before}, and then on {home or 'no node'}")
            if type_ == "DELETED":
                self._forget(uid)
            elif home and not before:
                self.seen, self.last_seen = self.seen + 1, time.time()
                self._homes[uid] = self.bound[key] = home
                self._add(key, uid, spec, home)

    def _forget(self, uid: str) -> None:
        home = self._homes.pop(uid, None)
        if home is not None:
            self.bound.pop(self._pods[home].pop(uid).key, None)

    def _add(self, key: str, uid: str, spec: Json, home: str) -> None:
        there, now = self._pods.setdefault(home, {}), time.monotonic()
        requests = (container.get("resources", {}).get("requests", {}) for container in spec["containers"])
        wants = Counter(pods=1, cpu=sum(_milli(wanted.get("cpu", "0")) for wanted in requests))
        there[uid] = _Resident(key, spec["schedulerName"] in self._ours, now, wants)
        if not there[uid].ours or home not in self._rooms:
            return
        known = (pod.wants for pod in there.values() if pod.ours or now - pod.since >= self._grace)
        total, rooms = sum(known, Counter[str]()), self._rooms[home]
        while len(rooms) > 1 and rooms[1][0] <= now - self._grace:
            del rooms[0]
        if not any(total <= room for _, room in rooms):
            room = rooms[-1][1]
            self.problems.append(f"{key} was added to {home}, which has {dict(room)} and now holds {dict(total)}")


def _milli(cpu: str) -> int:
    return int(cpu[:-1]) if cpu.endswith("m") else 1000 * int(cpu)
