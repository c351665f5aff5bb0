"""Two tenants that create hostile pods all the time, and nodes whose labels, taints and resources change."""

from __future__ import annotations

import random
import threading
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress

from tests.e2e.devices import CLAIM, device_class, device_slice
from tests.e2e.hostile_cluster import churned_node
from tests.e2e.hostile_pods import STORM_PRIORITY_CLASS, random_pod, repelling
from tests.soak.surroundings import LASTING_SCHEDULER

from stowplan.testing import KubeApi, RefusedError, SurroundingsError

NAMESPACES = ("hostile-a", "hostile-b")
MAX_PODS = 50
"""Hostile pods at any time; for each further one, the oldest is deleted."""
MAX_CHURNED_NODES = 10
STEP_SECONDS = 0.3
CHURN_PROBABILITY = 0.5
DEVICE_NODES, DEVICES = 6, 32


class HostileTenants(threading.Thread):
    """Works from `start` to `end`, also while the other traffic rests: ordinary pods have to be bound all the same."""

    def __init__(self, api: KubeApi, rng: random.Random) -> None:
        super().__init__(name="hostile tenants", daemon=True)
        self._api = api
        self._rng = rng
        self._over = threading.Event()
        self._moving, self._resting = threading.Event(), threading.Event()
        self._moving.set()
        self._pods: deque[tuple[str, str]] = deque()
        self._nodes: deque[str] = deque()
        self.created: Counter[str] = Counter()

    def prepare(self) -> None:
        self._api.create(
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": STORM_PRIORITY_CLASS},
                "value": 10_000,
            }
        )
        for namespace in NAMESPACES:
            self._api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        self._api.create(device_class())
        for number in range(DEVICE_NODES):
            self._api.create(device_slice(f"n-{number}", DEVICES))
        for zone in "ab":
            self._api.create(repelling(NAMESPACES[0], zone))

    def run(self) -> None:
        while not self._over.wait(self._rng.uniform(0, 2 * STEP_SECONDS)):
            self._resting.clear()
            if not self._moving.is_set():
                self._resting.set()
                self._moving.wait()
                continue
            step = self._churn_node if self._rng.random() < CHURN_PROBABILITY else self._create_pod
            with suppress(SurroundingsError):  # The server may be down.
                step()

    def withdraw(self) -> None:
        """Stop, and delete all pods, so that the memory which the schedulers keep can be measured."""
        self._moving.clear()
        self._resting.wait()
        while self._pods:
            with suppress(SurroundingsError):
                self._delete_pod(*self._pods[0])
                self._pods.popleft()

    def go_on(self) -> None:
        self._moving.set()

    def end(self) -> None:
        self._over.set()
        self._moving.set()
        self.join()

    def _create_pod(self) -> None:
        number = self.created.total()
        namespace = self._rng.choice(NAMESPACES)
        kind, objects = random_pod(self._rng, f"h-{number}", namespace)
        self.created[kind] += 1
        self._pods.append((namespace, f"h-{number}"))
        if self._rng.random() < 0.5:
            objects[-1]["spec"]["schedulerName"] = LASTING_SCHEDULER
        for each in objects:
            self._api.create(each)
        while len(self._pods) > MAX_PODS:
            self._delete_pod(*self._pods[0])
            self._pods.popleft()

    def _delete_pod(self, namespace: str, name: str) -> None:
        _unless_gone(lambda: self._api.delete("Pod", name, namespace))
        _unless_gone(lambda: self._api.patch(CLAIM, name, {"metadata": {"finalizers": None}}, namespace))
        _unless_gone(lambda: self._api.delete(CLAIM, name, namespace))

    def _churn_node(self) -> None:
        """Create a node without room for pods, or change one."""
        self.created["node change"] += 1
        number = self.created["node change"]
        if self._nodes and number % 2:
            name = self._rng.choice(self._nodes)
            labels = {f"l-{number}-{each}": f"v-{number}" for each in range(20)}
            _unless_gone(lambda: self._api.patch("Node", name, {"metadata": {"labels": labels}}, ""))
            return
        self._nodes.append(f"churned-{number}")
        self._api.create(churned_node(number))
        while len(self._nodes) > MAX_CHURNED_NODES:
            _unless_gone(lambda: self._api.delete("Node", self._nodes[0], ""))
            self._nodes.popleft()


def _unless_gone(change: Callable[[], object]) -> None:
    try:
        change()
    except RefusedError as refusal:
        if refusal.status != 404:
            raise
