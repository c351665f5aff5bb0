"""A cluster that changes at random, one small step after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.builders import Json, World, profile_config
from tests.property.vocabulary import CONFIGS, OBJECTS, PODS, make_node, make_pod

from stowplan.api import codec
from stowplan.api.kinds import KINDS
from stowplan.framework import Plugin, Pod
from stowplan.runtime import Decision

Step = tuple[str, int, int]
"""The name of a step and two numbers that choose its objects; any numbers are valid."""

NAMES = tuple(f"n{i}" for i in range(24))
"""More than are looked at one by one."""


class Walk:
    """Interprets steps; every sequence of steps makes sense."""

    def __init__(self, nodes: list[int], config: int = 0, plugins: Mapping[str, type[Plugin]] | None = None) -> None:
        self.config = config
        args = CONFIGS[config]
        self.world = World(config=None if args is None else profile_config(args=args), plugins=plugins)
        self.cluster = self.world.cluster
        self.pods: list[Pod] = []
        self.nominated: list[Pod] = []
        self.waiting: list[Pod] = []
        """Pending pods that stay undecided during the walk."""
        self.items: dict[str, Json] = {}
        """All pods that ever were, by uid, as last seen."""
        self.objects: dict[int, Any] = {}
        self._serial = 0
        for i, shape in enumerate(nodes):
            self.world.put_node(make_node(NAMES[i], shape))

    def take(self, step: Step) -> None:
        STEPS[step[0]](self, step[1], step[2])
        # As the keeper of pods that are on no node has to: a selector may have begun to read more of their labels.
        for pod in (*self.nominated, *self.waiting):
            self.cluster.retemplate(pod)

    def wait(self, shapes: list[int]) -> list[Pod]:
        self.waiting = [self.pod(shape) for shape in shapes]
        return self.waiting

    def pod(self, shape: int, on: str = "", name: str = "", **more: Any) -> Pod:
        self._serial += 1
        item = make_pod(name or f"p{self._serial}", shape, on, **more)
        pod = self.world.pod(item)
        self.items[pod.uid] = item
        return pod

    def rebuilt(self) -> Walk:
        """A cluster with the same nodes, pods and objects, put in one by one, and nothing ever taken out."""
        twin = Walk([], self.config)
        for item in self.objects.values():
            twin.cluster.put(item)
        for name in sorted(self.cluster.nodes.slot_of):
            info = self.cluster.nodes.get(name)
            assert info is not None
            twin.cluster.put_node(info.node)
        for pod in self.cluster.pods.values():
            item = self.items[pod.uid]
            twin.world.add_pod({**item, "spec": {**item["spec"], "nodeName": pod.node_name}})
        for pod in self.nominated:
            twin.world.nominator.add(twin.world.pod(self.items[pod.uid]), self.world.nominator.node_of(pod))
        return twin

    def place(self, shape: int, times: int) -> None:
        """Decide, and take the decision for granted."""
        for _ in range(times):
            pod = self.pod(shape)
            self.follow(pod, self.world.decide(pod))

    def follow(self, pod: Pod, decision: Decision) -> None:
        if decision.node_name:
            self.cluster.assume(pod, decision.node_name)
            self.pods.append(pod)
        elif decision.preemption is not None:
            for victim in decision.preemption.victims:
                self.cluster.remove_pod(victim.uid)
            gone = {victim.uid for victim in decision.preemption.victims}
            self.pods = [other for other in self.pods if other.uid not in gone]
            self.world.nominator.add(pod, decision.preemption.node_name)
            self.nominated.append(pod)

    def run_pod(self, shape: int, where: int, **more: Any) -> None:
        """A pod turns up on a node, whether it fits there or not, whether the node is known or not."""
        pod = self.pod(shape, NAMES[where % len(NAMES)], **more)
        self.cluster.add_pod(pod)
        self.pods.append(pod)

    def end_pod(self, which: int, _: int = 0) -> None:
        if self.pods:
            self.cluster.remove_pod(self.pods.pop(which % len(self.pods)).uid)

    def forget_pod(self, which: int, _: int) -> None:
        assumed = [pod for pod in self.pods if pod.uid in self.cluster.assumed]
        if assumed:
            pod = assumed[which % len(assumed)]
            self.cluster.forget(pod)
            self.pods.remove(pod)

    def update_pod(self, which: int, shape: int) -> None:
        """A pod on a node becomes another one: other labels, terminating, resized."""
        if not self.pods:
            return
        index = which % len(self.pods)
        old = self.pods[index]
        changes = ({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, {"status": _resized("2", "3Gi")}, {})
        self.pods[index] = self.pod(shape, old.node_name, old.name, namespace=old.namespace, **changes[which % 3])
        self.cluster.add_pod(self.pods[index])

    def put_node(self, which: int, shape: int) -> None:
        self.world.put_node(make_node(NAMES[which % len(NAMES)], shape))

    def remove_node(self, which: int, _: int) -> None:
        self.cluster.remove_node(NAMES[which % len(NAMES)])

    def toggle_object(self, which: int, _: int) -> None:
        index = which % len(OBJECTS)
        if index in self.objects:
            self.cluster.remove(self.objects.pop(index))
            return
        kind, body = OBJECTS[index]
        self.objects[index] = codec.convert(KINDS[kind].struct, _with_metadata(body))
        self.cluster.put(self.objects[index])

    def nominate(self, shape: int, where: int) -> None:
        pod = self.pod(shape)
        self.world.nominator.add(pod, NAMES[where % len(NAMES)])
        self.nominated.append(pod)

    def withdraw(self, which: int, _: int) -> None:
        if self.nominated:
            self.world.nominator.remove(self.nominated.pop(which % len(self.nominated)))


def _resized(cpu: str, memory: str) -> Json:
    resources = {"requests": {"cpu": cpu, "memory": memory}}
    return {"containerStatuses": [{"name": "c", "resources": resources, "allocatedResources": resources["requests"]}]}


def _with_metadata(body: Json) -> Json:
    metadata = {key: body[key] for key in ("name", "namespace", "labels", "annotations") if key in body}
    return {"metadata": metadata, **{key: value for key, value in body.items() if key not in metadata}}


STEPS: dict[str, Callable[[Walk, int, int], None]] = {
    "place": lambda walk, shape, _: walk.place(shape, 1),
    "place many": lambda walk, shape, _: walk.place(shape, 20),
    "run": Walk.run_pod,
    "end": Walk.end_pod,
    "forget": Walk.forget_pod,
    "update": Walk.update_pod,
    "put node": Walk.put_node,
    "remove node": Walk.remove_node,
    "toggle object": Walk.toggle_object,
    "nominate": Walk.nominate,
    "withdraw": Walk.withdraw,
}

ALL_SHAPES = tuple(range(len(PODS)))
