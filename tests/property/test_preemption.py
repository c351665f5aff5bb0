"""The search for victims by arithmetic finds what the filters find, node by node, whatever happened before."""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import World, node, pod, selector

from stowplan import api
from stowplan.framework import CycleState, NodeInfo, Plugin, Pod, Status, error, reject
from stowplan.runtime.decide.diagnosis import Diagnosis
from stowplan.runtime.points.cycle_error import CycleError
from stowplan.runtime.preemption.demands import demands_of
from stowplan.runtime.preemption.iterate import CandidateSearch, one_by_one, together
from stowplan.runtime.preemption.search import nodes_where_preemption_might_help
from stowplan.runtime.preemption.select_candidate import best

NODES: tuple[dict[str, Any], ...] = (
    {"cpu": 4},
    {"cpu": 4, "pods": 5},
    {"cpu": 8, "memory": "4Gi"},
    {"cpu": 4, "extra": {"example.com/gpu": "3"}},
    {"cpu": 30, "memory": "30Gi", "pods": 20},
    {"cpu": 4, "unschedulable": True},
    {"cpu": 1, "memory": str(2**53 + 1)},
)

RUNNING: tuple[dict[str, Any], ...] = (
    {"requests": {"cpu": "1"}},
    {"requests": {"cpu": "1", "memory": "1Gi"}, "labels": {"app": "a"}},
    {"requests": {"cpu": "1500m"}, "labels": {"app": "b"}, "metadata": {"deletionTimestamp": "2026-01-02T00:00:00Z"}},
    {"requests": {"memory": "512Mi"}, "labels": {"app": "a"}},
    {"requests": {"cpu": "300m", "example.com/gpu": 1}, "labels": {"app": "b"}},
    {"labels": {"app": "a"}},
    {
        "requests": {"cpu": "500m"},
        "status": {"containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "2", "memory": "1Gi"}}}]},
    },
    {"requests": {"memory": str(2**52 + 1)}},
)

HOSTS = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["n1", "n3"]}

PREEMPTORS: tuple[dict[str, Any], ...] = (
    {"requests": {"cpu": "3"}},
    {"requests": {"cpu": "3", "memory": "2Gi"}},
    {"requests": {"cpu": "500m", "example.com/gpu": 2}},
    {"requests": {"cpu": "12", "memory": "3Gi"}},
    {"requests": {"memory": str(2**53)}},
    {},
    {"requests": {"cpu": "3"}, "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]},
)

CSI_VOLUME = {"csi": {"driver": "x", "volumeHandle": "h"}}
IN_TREE_VOLUME = {
    "awsElasticBlockStore": {"volumeID": "v"},
    "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [HOSTS]}]}},
}

STARTS = ("", "", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z", "2026-01-01T02:30:00+02:00")


class Picky(Plugin):
    """A user's plugin that refuses some nodes and fails on others, without a look at their pods."""

    name = "Picky"
    scope = "node"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        digit = int(node.name[-1])
        return reject("node(s) were not to my taste") if digit in (3, 4) else error("lost") if digit == 7 else None


class Story:
    """A cluster in which things happen by chance, with names given by number."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.world = World(plugins={Picky.name: Picky} if random.random() < 0.3 else {})
        self.names: list[str] = []
        self.running: list[Pod] = []
        self._number = 0
        self._priorities = random.choice(((0,), (0, 5), (0, 5, 10, -3, 100)))
        self._preemptors = random.sample(PREEMPTORS, 2)
        self._waiting: list[Pod] = []
        self._starts = random.choice((STARTS, STARTS[:1], STARTS[2:]))
        spec = {"volumeName": "pv", "accessModes": ["ReadOnlyMany"]}
        bound = {"pv.kubernetes.io/bind-completed": "yes"}
        self.world.put("PersistentVolumeClaim", name="c", namespace="default", annotations=bound, spec=spec)
        self.volume_comes()
        for _ in range(random.randint(1, 20)):
            self.node_comes()
            self.pods_come(self.names[-1])
        for _ in range(random.randint(0, 2)):
            self.budget_comes()

    def name(self, letter: str) -> str:
        self._number += 1
        return f"{letter}{self._number}"

    def node_comes(self) -> None:
        self.names.append(self.name("n"))
        self.world.put_node(node(self.names[-1], **self.random.choice(NODES)))

    def node_changes(self) -> None:
        self.world.put_node(node(self.random.choice(self.names), **self.random.choice(NODES)))

    def node_goes(self) -> None:
        if len(self.names) > 1:
            self.world.cluster.remove_node(self.names.pop(self.random.randrange(len(self.names))))

    def pods_come(self, on: str = "") -> None:
        for _ in range(self.random.choice((1, 1, 4, 8, 16))):
            shape = {**self.random.choice(RUNNING), "priority": self.random.choice(self._priorities)}
            start = self.random.choice(self._starts)
            status = {**shape.get("status", {}), **({"startTime": start} if start else {})}
            item = pod(self.name("p"), on or self.random.choice(self.names), **{**shape, "status": status})
            self.running.append(self.world.add_pod(item))

    def pod_goes(self) -> None:
        if self.running:
            gone = self.running.pop(self.random.randrange(len(self.running)))
            self.world.cluster.remove_pod(gone.uid)

    def budget_comes(self) -> None:
        app = self.random.choice(("a", "b", ""))
        spec = {"selector": selector(app=app) if app else {}}
        disrupted = dict.fromkeys(self.random.sample(("p2", "p3", "p4"), 1), "2026-01-01T00:00:00Z")
        status = {"disruptionsAllowed": self.random.randint(0, 2), "disruptedPods": disrupted}
        name = self.random.choice("xy")
        self.world.put("PodDisruptionBudget", name=name, namespace="default", spec=spec, status=status)

    def volume_comes(self) -> None:
        self.world.put("PersistentVolume", name="pv", spec=self.random.choice((CSI_VOLUME, IN_TREE_VOLUME)))

    def limit_comes(self) -> None:
        name, limit = self.random.choice(self.names), self.random.choice((0, 1, 5, 50))
        drivers = [
            {"name": driver, "nodeID": name, "allocatable": {"count": limit}} for driver in ("x", "ebs.csi.aws.com")
        ]
        self.world.put("CSINode", name=name, spec={"drivers": drivers})

    def pod_is_nominated(self) -> None:
        shape = {**self.random.choice(PREEMPTORS), "priority": self.random.choice((0, 7, 50, 60))}
        item = pod(self.name("q"), nominated=self.random.choice(self.names), **shape)
        self._waiting.append(self.world.nominate(item))

    def nomination_ends(self) -> None:
        if self._waiting:
            self.world.nominator.remove(self._waiting.pop())

    def device_class_comes(self) -> None:
        self.world.put("DeviceClass", name="gpus", spec={"extendedResourceName": "example.com/gpu"})

    def some_preempt(self) -> None:
        """Several of a kind; between one and the next, little happens."""
        shape, priority = self.random.choice(self._preemptors), self.random.choice((7, 50, 50))
        for _ in range(self.random.randint(1, 6)):
            diagnosis = Diagnosis(self.world.profile, self.world.pod(pod(self.name("w"), **shape, priority=priority)))
            with suppress(CycleError):
                diagnosis.run()
            slots = nodes_where_preemption_might_help(diagnosis)
            demands = demands_of(self.world.profile, diagnosis.state, diagnosis.pod)
            if demands is None:
                stores = self.world.cluster.stores
                assert len(stores.of(api.DeviceClass)) or len(stores.of(api.CSINode)), "nothing else needs more"
            elif len(slots):
                slots = np.roll(slots, self.random.randrange(len(slots)))
                enough = self.random.randint(1, len(slots))
                fast, exact = together(diagnosis, demands, slots, enough), one_by_one(diagnosis, slots, enough)
                assert essence(fast) == essence(exact)
                self.random.choice(SMALL_EVENTS)(self)


SMALL_EVENTS = (Story.pod_goes, Story.pods_come, Story.pod_is_nominated, Story.nomination_ends)

EVENTS = (
    *SMALL_EVENTS,
    Story.node_comes,
    Story.node_changes,
    Story.node_goes,
    Story.budget_comes,
    Story.device_class_comes,
    Story.volume_comes,
    Story.limit_comes,
    *[Story.some_preempt] * 8,
)


def essence(found: CandidateSearch) -> tuple[Any, ...]:
    """All that a search makes known; failures are told only where there are no candidates."""
    if found.candidates:
        return (*found.candidates, best(found.costs))
    return (+found.failures, [str(problem) for problem in found.errors])


@settings(max_examples=100)
@given(st.integers(0, 2**32))
def test_arithmetic_is_what_the_filters_say(seed: int) -> None:
    random = Random(seed)
    story = Story(random)
    for event in random.choices(EVENTS, k=12):
        event(story)
