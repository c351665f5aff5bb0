"""An auditor: watches pods and nodes past everything that stands between a scheduler and the API server, and notes what
must never happen. It knows nothing of how schedulers work.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple, Self

from stowplan.testing import KubeApi, RefusedError, SurroundingsError, wait_until
from stowplan.testing.objects import JsonObject

_SLICE_SECONDS = 1
"""Watches are this short, so that the end of an audit is noticed."""

_Wants = Counter[str]


class _Resident(NamedTuple):
    """A pod on a node."""

    key: str
    ours: bool
    since: float
    wants: _Wants


class Audit:
    """Follows the cluster for the length of a `with`.

    bound      the node of every pod that has one, by namespace/name
    problems   pods whose node changed, and nodes that a pod of one of our schedulers was added to without room for it
    """

    def __init__(self, api: KubeApi, *, ours: Iterable[str] = ("default-scheduler",), grace: float = 0.0) -> None:
        """`ours` are our schedulers; what others have bound, and that nodes have become smaller, is held against ours
        only after so many seconds."""
        self.bound: dict[str, str] = {}
        self.problems: list[str] = []
        self.seen = 0
        """How many times a pod was seen to be bound, by whomever."""
        self.last_seen = 0.0
        """When that was the last time, by the wall's clock."""
        self._api = api
        self._ours = frozenset(ours)
        self._grace = grace
        self._rooms: dict[str, list[tuple[float, _Wants]]] = {}
        """By node, how much room it has had, and since when, as far back as is held against nobody."""
        self._pods: dict[str, dict[str, _Resident]] = {}
        """By node, the pods there by uid."""
        self._homes: dict[str, str] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._follow, args=(kind, note), daemon=True, name=f"audit-{kind}")
            for kind, note in (("Node", self._note_node), ("Pod", self._note_pod))
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def start_anew(self) -> None:
        """Wait until it is known that there is nothing, as between two tests, and forget what was counted and noted."""
        wait_until(lambda: not self.bound and not self._rooms, what="an empty cluster")
        with self._lock:
            self.problems.clear()
            self.seen = 0

    def wait_for_all(self, namespace: str, count: int, *, timeout: float = 60.0) -> dict[str, str]:
        """Wait until so many pods of a namespace are bound, by the watch and by what the server says, and return the
        node of each, by name. Fails if anything was wrong in between."""

        def mine() -> dict[str, str]:
            with self._lock:
                found = [(key.split("/"), node) for key, node in self.bound.items()]
            return {name: node for (place, name), node in found if place == namespace}

        try:
            wait_until(lambda: len(mine()) >= count and mine() == self._api.bound_pods(namespace), timeout=timeout)
        except SurroundingsError:
            unbound = [pod for pod in self._api.list("Pod", namespace) if not pod["spec"].get("nodeName")]
            told = "\n".join(f"{pod['metadata']['name']}: {pod['status']}" for pod in unbound[:5])
            raise AssertionError(f"{len(unbound)} of {count} pods were never bound, such as\n{told}") from None
        assert not self.problems
        return mine()

    def _follow(self, kind: str, note: Callable[[str, JsonObject], None]) -> None:
        version = ""
        while not self._over.is_set():
            try:
                version = self._watch(kind, note, version) if version else self._list(kind, note)
            except RefusedError:
                version = ""  # too old
            except SurroundingsError:
                time.sleep(0.2)  # the server may be down

    def _list(self, kind: str, note: Callable[[str, JsonObject], None]) -> str:
        found = self._api.request("GET", self._api.path(kind))
        there = {item["metadata"]["uid" if kind == "Pod" else "name"] for item in found["items"]}
        with self._lock:
            if kind == "Node":
                self._rooms = {name: rooms for name, rooms in self._rooms.items() if name in there}
            else:
                for uid in self._homes.keys() - there:
                    self._forget(uid)
        for item in found["items"]:
            note("ADDED", item)
        return str(found["metadata"]["resourceVersion"])

    def _watch(self, kind: str, note: Callable[[str, JsonObject], None], version: str) -> str:
        options = {"resourceVersion": version, "timeoutSeconds": _SLICE_SECONDS, "allowWatchBookmarks": "true"}
        for event in self._api.watch(kind, **options):
            if event["type"] == "ERROR":
                return ""
            version = event["object"]["metadata"]["resourceVersion"]
            if event["type"] != "BOOKMARK":
                note(event["type"], event["object"])
        return version

    def _note_node(self, type_: str, node: JsonObject) -> None:
        name, room, now = node["metadata"]["name"], node["status"]["allocatable"], time.monotonic()
        with self._lock:
            if type_ == "DELETED":
                self._rooms.pop(name, None)
                return
            self._rooms.setdefault(name, []).append((now, Counter(cpu=_milli(room["cpu"]), pods=int(room["pods"]))))

    def _note_pod(self, type_: str, pod: JsonObject) -> None:
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

    def _add(self, key: str, uid: str, spec: JsonObject, home: str) -> None:
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
