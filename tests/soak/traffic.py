"""Pods and nodes that come and go."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tests.soak.surroundings import LASTING_SCHEDULER

from stowplan.testing import KubeApi, RefusedError, SurroundingsError, node, pod
from stowplan.testing.objects import JsonObject

NAMESPACE = "default"
NODES, NODE_CPU = 12, 8
BUSY = 0.85
"""Pods come until so much of the room is taken. Above it, more pods go than come: a walk without a drift would fill the
cluster in the end, and pods would be pending for good reason."""
EVERY = 0.05
URGENT = "urgent"

_SHAPES: tuple[tuple[int, JsonObject], ...] = (
    (6, {"cpu": "100m"}),
    (3, {"cpu": "500m"}),
    (1, {"cpu": "1"}),
    (1, {"cpu": "500m", "priorityClassName": URGENT}),
    (1, {"cpu": "100m", "nodeSelector": {"zone": "a"}}),
    (
        3,
        {
            "cpu": "1m",
            "schedulerName": LASTING_SCHEDULER,
            "nodeSelector": {LASTING_SCHEDULER: "only"},
            "tolerations": [{"key": LASTING_SCHEDULER, "operator": "Exists"}],
        },
    ),
)
"""Sorts of pods, and how often each comes."""


class Traffic(threading.Thread):
    """Works from `start` to `end`; between `rest` and `go_on` nothing comes and nothing goes."""

    def __init__(self, api: KubeApi, rng: random.Random) -> None:
        super().__init__(name="traffic", daemon=True)
        self._api = api
        self._rng = rng
        self._moving, self._resting = threading.Event(), threading.Event()
        self._over = False
        self._pods: dict[str, float] = {}
        """By name, the cores that they want."""
        self._nodes: dict[str, bool] = {}
        """By name, whether pods can go there."""
        self.created = 0
        self.deleted = 0

    def prepare(self) -> None:
        kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
        self._api.create({**kind, "metadata": {"name": URGENT}, "value": 1000})
        for number in range(NODES):
            self._create_node(f"n-{number}")
        lasting = node(LASTING_SCHEDULER, cpu="900", pods=9_999, labels={LASTING_SCHEDULER: "only"})
        taints = [{"key": LASTING_SCHEDULER, "effect": "NoSchedule"}]
        self._api.create({**lasting, "spec": {"taints": taints}})
        self._moving.set()

    def run(self) -> None:
        while not self._over:
            self._resting.clear()
            if not self._moving.is_set():
                self._resting.set()
                self._moving.wait()
                continue
            with suppress(SurroundingsError):  # The server may be down, which is the point.
                self._step()()
            threading.Event().wait(EVERY)

    def rest(self) -> None:
        """Nothing moves any more when this returns. All nodes can be used, so all pods can be placed."""
        self._moving.clear()
        self._resting.wait()
        for name, usable in list(self._nodes.items()):
            if not usable:
                self._set_usable(name, True)

    def go_on(self) -> None:
        self._moving.set()

    def end(self) -> None:
        self._over = True
        self._moving.set()
        self.join()

    def _step(self) -> Callable[[], None]:
        taken = sum(self._pods.values()) / (NODES * NODE_CPU)
        dice = self._rng.random()
        if dice < 0.01:
            return self._replace_node
        if dice < 0.03:
            return self._turn_node
        return self._create_pod if dice < (0.9 if taken < BUSY else 0.3) else self._delete_pod

    def _create_pod(self) -> None:
        shape = self._rng.choices([shape for _, shape in _SHAPES], [weight for weight, _ in _SHAPES])[0]
        name = f"p-{self.created}"
        self.created += 1
        self._pods[name] = float(shape["cpu"].removesuffix("m")) / (1000 if shape["cpu"].endswith("m") else 1)
        more: dict[str, Any] = {"terminationGracePeriodSeconds": 0, **shape}
        self._api.create(pod(name, NAMESPACE, memory="1Mi", **more))

    def _delete_pod(self) -> None:
        """One that was preempted is gone already, and one whose creation failed was never there."""
        if self._pods:
            name = self._rng.choice(list(self._pods))
            self._gone("Pod", name, NAMESPACE)
            del self._pods[name]
            self.deleted += 1

    def _turn_node(self) -> None:
        name = self._rng.choice(list(self._nodes))
        if sum(not usable for usable in self._nodes.values()) < 2 or not self._nodes[name]:
            self._set_usable(name, not self._nodes[name])

    def _set_usable(self, name: str, usable: bool) -> None:
        try:
            self._api.patch("Node", name, {"spec": {"unschedulable": not usable}}, "")
            self._nodes[name] = usable
        except RefusedError as refusal:
            if refusal.status != 404:
                raise
            self._create_node(name)  # The server went down while the node was being replaced.

    def _replace_node(self) -> None:
        """With its pods, as a garbage collector would."""
        name = self._rng.choice(list(self._nodes))
        self._nodes[name] = False
        self._gone("Node", name, "")
        for each in self._api.list("Pod", NAMESPACE, fieldSelector=f"spec.nodeName={name}"):
            self._gone("Pod", each["metadata"]["name"], NAMESPACE)
            self._pods.pop(each["metadata"]["name"], None)
        self._create_node(name)

    def _create_node(self, name: str) -> None:
        zone = "a" if int(name.rpartition("-")[2]) % 2 else "b"
        self._api.create(node(name, cpu=str(NODE_CPU), pods=500, labels={"zone": zone}))
        self._nodes[name] = True

    def _gone(self, kind: str, name: str, namespace: str) -> None:
        try:
            self._api.delete(kind, name, namespace)
        except RefusedError as refusal:
            if refusal.status != 404:
                raise
