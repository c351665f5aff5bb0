"""Annotations, metadata and status for plugins: declared annotations are part of the template, everything else of a
pod is reported by the guard, and nothing that plugins read can be changed."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from tests.builders import World, node, pod

from stowplan.framework import CycleState, NodeInfo, Plugin, Pod, Status, reject

KEY = "example.com/pool"


def pools(what: Callable[[Pod], Any], declared: Any = (), scope_: str = "node") -> type[Plugin]:
    """A plugin that keeps pods off nodes of other pools than the pod's."""

    class Pools(Plugin):
        name = "pools"
        scope = scope_  # type: ignore[assignment]
        reads_annotations = declared
        calls = 0

        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
            type(self).calls += 1
            return None if what(pod) == node.annotations.get(KEY) else reject("another pool")

    return Pools


def world(kind: type[Plugin]) -> World:
    return World([node(name, annotations={KEY: name}) for name in ("a", "b", "c")], plugins={"pools": kind})


def of_pool(name: str, pool: str, **annotations: str) -> Any:
    return pod(name, annotations={KEY: pool, **annotations})


READERS: dict[str, Callable[[Pod], Any]] = {
    "index": lambda pod: pod.annotations[KEY],
    "get": lambda pod: pod.annotations.get(KEY),
    "metadata": lambda pod: pod.metadata.annotations[KEY],
}
ALL_READERS: dict[str, Callable[[Pod], Any]] = {
    **READERS,
    "items": lambda pod: dict(pod.annotations.items())[KEY],
    "iteration": lambda pod: next(pod.annotations[key] for key in pod.annotations if key == KEY),
}


def decide_all(in_: World) -> list[str]:
    """Pods of two pools by turns; an annotation that is not read differs for each."""
    pods = [in_.pod(of_pool(f"p{i}", "ab"[i % 2], number=str(i))) for i in range(12)]
    return [in_.profile.decide(each).node_name for each in pods]


@pytest.mark.parametrize("reader", READERS)
def test_declared_annotations_are_part_of_the_template(reader: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "stowplan")
    kind: Any = pools(READERS[reader], (KEY,))
    assert decide_all(world(kind)) == ["a", "b"] * 6
    assert kind.calls == 2 * 2 * 3  # For each template and node: for its first pod, and for its plan.
    assert not caplog.records


@pytest.mark.parametrize("reader", ALL_READERS)
def test_all_annotations_may_be_declared(reader: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "stowplan")
    kind = pools(ALL_READERS[reader], True)
    assert decide_all(world(kind)) == ["a", "b"] * 6
    assert not caplog.records


@pytest.mark.parametrize("declared", [(), ("example.com/other",)])
@pytest.mark.parametrize("reader", ALL_READERS)
def test_undeclared_annotations_are_never_remembered(
    reader: str, declared: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "stowplan")
    kind = pools(ALL_READERS[reader], declared)
    assert decide_all(world(kind)) == ["a", "b"] * 6
    (warning,) = [record.getMessage() for record in caplog.records]
    assert "field=pod.annotations" in warning
    assert 'declare=reads_annotations = ("<key>",)' in warning.replace("\\", "")


@pytest.mark.parametrize(
    ("what", "field"),
    [
        (lambda pod: pod.metadata.name[0], "pod.metadata.name"),
        (lambda pod: pod.metadata.creation_timestamp or pod.metadata.name[0], "pod.metadata.creation_timestamp"),
        (lambda pod: pod.status.phase, "pod.status"),
    ],
)
def test_metadata_and_status_are_the_pods_own(
    what: Callable[[Pod], Any], field: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "stowplan")
    in_ = world(pools(what))
    decisions = [in_.decide(pod(f"{name}{i}", status={"phase": name})) for i in range(4) for name in "ab"]
    assert [decision.node_name for decision in decisions] == ["a", "b"] * 4
    assert f"field={field}" in caplog.records[0].getMessage()


@pytest.mark.parametrize(
    "what", [lambda pod: pod.metadata.labels["pool"], lambda pod: pod.spec.nodeSelector and pod.metadata.namespace]
)
def test_labels_and_namespace_in_metadata_are_part_of_the_template(
    what: Callable[[Pod], Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "stowplan")
    in_ = world(pools(what))
    for i in range(6):
        in_.decide(pod(f"p{i}", labels={"pool": "a"}))
    assert not caplog.records


@pytest.mark.parametrize("declared", [(), (KEY,)])
def test_annotations_of_pods_on_the_node_may_change(declared: Any) -> None:
    class Budget(Plugin):
        name = "budget"
        scope = "node+pods"
        reads_annotations = declared

        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
            used = sum(int(other.annotations.get(KEY, 0)) for other in node.pods.values())
            return reject("no budget") if used > 3 else None

    in_ = World([node("n")], plugins={"budget": Budget})
    in_.add_pod(pod("big", "n", annotations={KEY: "5"}))
    assert [in_.decide(pod(f"p{i}")).node_name for i in range(3)] == [""] * 3
    in_.add_pod(pod("big", "n", annotations={KEY: "2"}))
    assert [in_.decide(pod(f"p{i}")).node_name for i in range(3)] == ["n"] * 3
    in_.add_pod(pod("big", "n", annotations={KEY: "4"}))
    assert [in_.decide(pod(f"p{i}")).node_name for i in range(3)] == [""] * 3


def test_the_template_has_declared_annotations_only() -> None:
    in_ = world(pools(lambda pod: "a", (KEY,)))
    made = in_.pod(of_pool("p", "a", more="x"))
    assert made.template.annotations == {KEY: "a"}
    assert made.annotations == {KEY: "a", "more": "x"}
    assert in_.pod(of_pool("q", "a", more="y")).template is made.template
    assert in_.pod(of_pool("r", "b")).template is not made.template


def test_metadata_needs_an_out_of_tree_plugin() -> None:
    with pytest.raises(AttributeError, match="only where plugins of other authors are enabled"):
        _ = World().pod(of_pool("p", "a")).annotations


def test_the_spec_names_the_pods_node() -> None:
    in_ = world(pools(lambda pod: "a"))
    in_.add_pod(pod("p", "a"))
    info = in_.cluster.nodes.get("a")
    assert info is not None
    (running,) = info.pods.values()
    assert (running.spec.node_name, running.template.spec.node_name) == ("a", "")


CHANGES: dict[str, Callable[[Pod, NodeInfo], Any]] = {
    "pod.spec.node_selector": lambda pod, node: pod.spec.node_selector.update(x="y"),
    "an empty map": lambda pod, node: pod.spec.overhead.update(x="y"),
    "requests": lambda pod, node: pod.spec.containers[0].resources.requests.update(cpu="9"),
    "template.spec": lambda pod, node: pod.template.spec.node_selector.update(x="y"),
    "template.requests": lambda pod, node: pod.template.requests.update(cpu=9),  # type: ignore[attr-defined]
    "template.annotations": lambda pod, node: pod.template.annotations.update(x="y"),  # type: ignore[attr-defined]
    "pod.annotations": lambda pod, node: pod.annotations.update(x="y"),  # type: ignore[attr-defined]
    "pod.metadata": lambda pod, node: setattr(pod.metadata, "name", "x"),
    "pod.metadata.labels": lambda pod, node: pod.metadata.labels.update(x="y"),
    "pod.status": lambda pod, node: setattr(pod.status, "phase", "x"),
    "pod.status.allocated_resources": lambda pod, node: pod.status.allocated_resources.update(cpu="9"),
    "pod.object": lambda pod, node: pod.object.update(x="y"),
    "inside pod.object": lambda pod, node: pod.object["spec"]["containers"].append({}),
    "node.pods": lambda pod, node: node.pods.clear(),  # type: ignore[attr-defined]
    "node.annotations": lambda pod, node: node.annotations.update(x="y"),  # type: ignore[attr-defined]
    "node.metadata": lambda pod, node: node.metadata.labels.update(x="y"),
    "node.node": lambda pod, node: node.node.metadata.annotations.update(x="y"),
    "node.spec": lambda pod, node: setattr(node.spec, "unschedulable", True),
    "node.status": lambda pod, node: node.status.allocatable.update(cpu="99"),
    "node.status.capacity": lambda pod, node: node.status.capacity.update(cpu="99"),
    "node.object": lambda pod, node: node.object["metadata"].update(x="y"),
    "pod on the node": lambda pod, node: node.pods["default/old"].metadata.labels.update(x="y"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_plugins_cannot_change_what_they_read(change: str) -> None:
    problems: list[Exception] = []

    class Changing(Plugin):
        name = "changing"
        needs_objects = True

        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
            try:
                CHANGES[change](pod, node)
            except (TypeError, AttributeError) as problem:
                problems.append(problem)
            return None

    in_ = World([node("n", labels={"disk": "ssd"})], [pod("old", "n", labels={"a": "b"})], plugins={"c": Changing})
    waiting = pod("p", labels={"a": "b"}, nodeSelector={"disk": "ssd"}, requests={"cpu": 1}, annotations={KEY: "a"})
    assert in_.decide(waiting).node_name == "n"
    assert len(problems) == 1
