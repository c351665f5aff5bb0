"""A random cluster, and the pods that come to it."""

from __future__ import annotations

from collections.abc import Collection

from tests.builders import Json, selector
from tests.parity.draw import APPS, NAMESPACES, Draw
from tests.parity.nodes import make_node
from tests.parity.pods import PACKING, PATIENT, PRIORITIES, Setting, make_pod
from tests.parity.storage import Storage, add_volumes, make_storage

FEATURES = (
    "resources",
    "taints",
    "cordons",
    "node affinity",
    "pod affinity",
    "spread",
    "ports",
    "images",
    "priority",
    "owners",
    "gates",
    "profiles",
    "storage",
    "services",
)
ROOMS = ("wide", "tight", "tight")

PROFILES = [
    {"schedulerName": "default-scheduler"},
    {
        "schedulerName": PACKING,
        "pluginConfig": [
            {
                "name": "NodeResourcesFit",
                "args": {
                    "scoringStrategy": {
                        "type": "MostAllocated",
                        "resources": [{"name": "cpu", "weight": 3}, {"name": "memory", "weight": 1}],
                    }
                },
            },
            {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 40}},
        ],
    },
]
"""What both schedulers are configured with; all but `profiles` see only the first."""

CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": PROFILES,
}

_TEMPLATE = {"metadata": {"labels": {}}, "spec": {"containers": [{"name": "c", "image": "web:1"}]}}


class Workload:
    """Drawn from a seed: two of the same seed are the same.

    It has some of the features, so that each shows both alone and among others.
    """

    def __init__(self, seed: int, index: int, *, nodes: int = 20, pods: int = 50) -> None:
        self.name = f"{seed}-{index}"
        self.pods = pods
        self._draw = Draw(self.name)
        self.features = frozenset(self._draw.some(FEATURES, 2, len(FEATURES)))
        room = "full" if "priority" in self.features else self._draw.choice(ROOMS)
        names = tuple(f"node-{number:02}" for number in range(nodes))
        self._setting = Setting(room, self.features, names, pods)
        self.nodes = [make_node(self._draw, name, room, self.features) for name in names]
        storage = make_storage(self._draw, self.nodes) if "storage" in self.features else Storage([], [])
        self.objects = [*storage.objects, *_others(self._draw, self.features)]
        """All but nodes and pods."""
        self.leaving = storage.leaving
        """Those of the objects that are deleted before the first pod comes, and stay because of their finalizers."""

    def pod(self, name: str) -> Json:
        """The next pod. Should the API server refuse it, ask for another."""
        self._setting.come += 1
        made = make_pod(self._draw, name, self._setting)
        if "storage" in self.features and self._draw.chance(0.5):
            add_volumes(self._draw, made)
        return made


def standing_objects() -> list[Json]:
    """What is there for all workloads."""
    return [
        *(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": n, "labels": NAMESPACES[n]}}
            for n in NAMESPACES
        ),
        *(_priority_class(name, value) for name, value in PRIORITIES.items()),
        _priority_class(PATIENT, 500) | {"preemptionPolicy": "Never"},
    ]


def _priority_class(name: str, value: int) -> Json:
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}


def _others(draw: Draw, features: Collection[str]) -> list[Json]:
    made = []
    if "services" in features:
        made += _services(draw)
    if "owners" in features:
        made += [_controller(kind, app, place) for kind in _CONTROLLERS for app in APPS for place in NAMESPACES]
    if "priority" in features:
        made += _budgets(draw)
    return made


def _services(draw: Draw) -> list[Json]:
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": app, "namespace": place},
            "spec": {"selector": {"app": app}, "clusterIP": "None"},
        }
        for place in NAMESPACES
        for app in draw.some(APPS, 1, 3)
    ]


_CONTROLLERS = ("ReplicaSet", "StatefulSet")


def _controller(kind: str, app: str, namespace: str) -> Json:
    template = _TEMPLATE | {"metadata": {"labels": {"app": app}}}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": f"{app}-{kind.lower()}", "namespace": namespace},
        "spec": {"selector": selector(app=app), "template": template},
    }


def _budgets(draw: Draw) -> list[Json]:
    return [
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": app, "namespace": place},
            "spec": {"selector": selector(app=app), "minAvailable": 1},
            "status": {
                "disruptionsAllowed": draw.choice((0, 0, 1, 2)),
                "currentHealthy": 3,
                "desiredHealthy": 1,
                "expectedPods": 3,
            },
        }
        for place in NAMESPACES
        for app in draw.some(APPS, 0, 2)
    ]
