"""Cached plugins are shown a pod that tells when they look at what is not part of the template."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.builders import Json, World, node, pod

from stowplan.framework import CycleState, NodeInfo, Nodes, Plugin, Pod, Status, reject
from stowplan.runtime.out_of_tree.template_only_pod import TemplateOnlyPod

INDEX = "apps.kubernetes.io/pod-index"
SIZE = {"cpu": 1, "memory": "2Gi"}


def looking(what: Callable[[Pod], Any], scope_: str = "node") -> type[Plugin]:
    """A plugin that looks at something of the pod, and lets pods called "odd" onto n1 alone."""

    class Looking(Plugin):
        name = "looking"
        scope = scope_  # type: ignore[assignment]
        asked = 0

        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
            type(self).asked += 1
            if what(pod) and node.name != "n1":
                return reject("not the one")
            return None

    return Looking


def world(kind: type[Plugin], nodes: int = 3) -> World:
    """The first node is the emptiest, then the second."""
    sizes = [64, 16, *[4] * (nodes - 2)]
    return World([node(f"n{i}", size, f"{2 * size}Gi") for i, size in enumerate(sizes)], plugins={"looking": kind})


OWN: dict[str, Callable[[Pod], Any]] = {
    "name": lambda pod: pod.name == "odd",
    "uid": lambda pod: pod.uid == "default/odd",
    "key": lambda pod: pod.key == "default/odd",
    "start_time": lambda pod: pod.start_time == "" and pod.name == "odd",
    "terminating": lambda pod: pod.terminating or pod.name == "odd",
    "labels": lambda pod: pod.labels.get(INDEX) == "1",
}


def replica(name: str) -> Json:
    return pod(name, labels={"app": "a", INDEX: "1" if name == "odd" else "0"}, requests=SIZE)


@pytest.mark.parametrize("scope", ["node", "node+pods"])
@pytest.mark.parametrize("attribute", OWN)
def test_what_is_a_pods_own_is_not_remembered(attribute: str, scope: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "stowplan")
    in_ = world(looking(OWN[attribute], scope))
    expected = {"a": "n0", "odd": "n1", "b": "n0"}
    for _ in range(3):
        for name, where in expected.items():
            assert in_.decide(replica(name)).node_name == where
    warnings = [record.getMessage() for record in caplog.records]
    assert len(warnings) == 1
    assert "its results are no longer cached" in warnings[0]
    assert f"(plugin=looking, scope={scope}, field=pod." in warnings[0]


@pytest.mark.parametrize(
    "what",
    [
        lambda pod: pod.namespace == "x",
        lambda pod: pod.spec.priority == 5,
        lambda pod: pod.priority == 5,
        lambda pod: pod.template.requests.get("cpu") == 5,
        lambda pod: pod.labels.get("app") == "b",
    ],
)
def test_what_all_pods_of_a_template_share_is(what: Callable[[Pod], Any], caplog: pytest.LogCaptureFixture) -> None:
    kind = looking(what)
    in_ = world(kind)
    for i in range(6):
        assert in_.decide(pod(f"p{i}", labels={"app": "a"}, requests=SIZE)).node_name == "n0"
    assert not caplog.records
    assert kind.asked <= 2 * 3, "asked at first sight and when the plan was made"  # type: ignore[attr-defined]


class HandsOn(Plugin):
    """Lets pods called "odd" onto n1 alone. `filter` reads what `pre_filter` found out about the pod."""

    name = "looking"
    scope = "node"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return reject("not the one") if self.is_odd(state, pod) and node.name != "n1" else None

    def is_odd(self, state: CycleState, pod: Pod) -> bool:
        return bool(state.read("odd"))


class ThroughState(HandsOn):
    needs_objects = True

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> None:
        state.write("odd", pod.object["metadata"]["name"] == "odd")


class ThroughClosure(HandsOn):
    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> None:
        state.write("odd", lambda: pod.name == "odd")

    def is_odd(self, state: CycleState, pod: Pod) -> bool:
        return bool(state.read("odd")())


class ThroughPodInState(HandsOn):
    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> None:
        state.write("odd", pod)

    def is_odd(self, state: CycleState, pod: Pod) -> bool:
        return bool(state.read("odd").name == "odd")


class ThroughSelf(HandsOn):
    odd = False

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> None:
        self.odd = pod.name == "odd"

    def is_odd(self, state: CycleState, pod: Pod) -> bool:
        return self.odd


class ThroughTable(HandsOn):
    """The pod as a key: its name is read by an object that another point made."""

    names: ClassVar[dict[Pod, bool]] = {}

    def pre_enqueue(self, pod: Pod) -> None:
        self.names[pod] = pod.name == "odd"

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> None:
        self.pre_enqueue(pod)

    def is_odd(self, state: CycleState, pod: Pod) -> bool:
        return self.names[pod]


class ThroughScore(Plugin):
    """The same by scores: PreFilter of a plugin without Filter."""

    name = "looking"
    scope = "node"

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> None:
        state.write("best", "n1" if pod.name == "odd" else "n0")

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return 100 if node.name == state.read("best") else 0


HANDED_ON = [ThroughState, ThroughClosure, ThroughPodInState, ThroughSelf, ThroughTable, ThroughScore]


@pytest.mark.parametrize("kind", HANDED_ON)
@pytest.mark.parametrize("scope", ["node", "node+pods"])
def test_what_pre_filter_hands_on_is_not_remembered(
    kind: type[Plugin], scope: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "stowplan")
    in_ = world(type("Declared", (kind,), {"scope": scope}))
    for name, where in {"a": "n0", "b": "n0", "odd": "n1", "c": "n0"}.items():
        assert in_.decide(pod(name, requests=SIZE)).node_name == where
    assert len([r for r in caplog.records if "its results are no longer cached" in r.getMessage()]) == 1


@pytest.mark.parametrize("point", ["pre_filter", "pre_score", "add_pod", "remove_pod", "normalize_score"])
def test_every_point_that_kept_answers_can_depend_on_is_guarded(point: str) -> None:
    def read(self: Plugin, state: CycleState, pod: Pod, *rest: Any) -> None:
        assert pod.name

    members = {"name": "looking", "scope": "node", "filter": lambda self, state, pod, node: None, point: read}
    if point == "normalize_score":
        members["score"] = lambda self, state, pod, node: 1
    in_ = world(type("Reading", (Plugin,), members))
    plugin = in_.plugin("looking")
    decided = in_.pod(pod("a"))
    nodes = in_.cluster.nodes
    info = nodes.infos[0]
    arguments = {
        "pre_filter": (nodes.everything(),),
        "pre_score": (nodes.everything(),),
        "add_pod": (decided, info),
        "remove_pod": (decided, info),
    }
    if point == "normalize_score":
        plugin.normalize_nodes(CycleState(), decided, np.zeros(3, dtype=np.int64), nodes.everything())
    else:
        getattr(plugin, point)(CycleState(), decided, *arguments[point])
    assert plugin.scope == "cluster"


def test_a_plugin_without_kept_answers_is_not_guarded(caplog: pytest.LogCaptureFixture) -> None:
    class Naming(Plugin):
        name = "looking"
        scope = "node"

        def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> list[str]:
            return ["n1" if pod.name == "odd" else "n0"]

    in_ = world(Naming)
    assert [in_.decide(replica(name)).node_name for name in ("a", "odd", "b", "odd")] == ["n0", "n1", "n0", "n1"]
    assert not caplog.records


SHARED = {"namespace", "priority", "spec", "template"}


def test_every_field_of_a_pod_is_shared_by_the_template_or_reported() -> None:
    in_ = world(looking(lambda pod: False))
    own = in_.pod(replica("a"))
    own.source = {"metadata": {}}
    for field in (name for name in dir(Pod) if not name.startswith("_")):
        read: list[str] = []
        assert getattr(TemplateOnlyPod(own, read.append), field) == getattr(own, field)
        assert bool(read) == (field not in SHARED), field


def test_plugins_of_cluster_scope_may_look_at_everything(caplog: pytest.LogCaptureFixture) -> None:
    kind = looking(OWN["name"], "cluster")
    in_ = world(kind)
    assert [in_.decide(replica(name)).node_name for name in ("a", "odd", "b", "odd")] == ["n0", "n1", "n0", "n1"]
    assert not caplog.records


def test_one_changed_node_is_all_that_a_cached_plugin_is_asked_about() -> None:
    kind: Any = looking(lambda pod: False)
    in_ = world(kind, 30)
    for i in range(3):
        in_.put_node(node("n7", cpu=8 + i))
        for _ in range(3):
            in_.decide(pod("p"))
    before = kind.asked
    in_.put_node(node("n7", cpu=2))
    in_.decide(pod("p"))
    assert kind.asked == before + 1
    in_.add_pod(pod("r", "n3"))
    in_.decide(pod("p"))
    assert kind.asked == before + 1


def test_pods_on_the_node_are_part_of_the_wider_scope() -> None:
    class Lonely(Plugin):
        name = "looking"
        scope = "node+pods"

        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
            return reject("taken") if any(other.name == "r" for other in node.pods.values()) else None

    in_ = world(Lonely)
    for expected in ("n0", "n0", "n0"):
        assert in_.decide(pod("p", requests=SIZE)).node_name == expected
    in_.add_pod(pod("r", "n0"))
    assert in_.decide(pod("p", requests=SIZE)).node_name == "n1"
    in_.cluster.remove_pod("default/r")
    assert in_.decide(pod("p", requests=SIZE)).node_name == "n0"
