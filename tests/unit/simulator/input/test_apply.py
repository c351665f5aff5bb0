from typing import Any

import pytest
from tests.builders import make
from tests.unit.simulator.simulated_cluster import node, pod, workload

from stowplan import api
from stowplan.simulator.input.apply import Applied, LiveObjects, apply
from stowplan.simulator.input.documents import Origin

FILE = Origin("new.yaml")
WEB: dict[str, Any] = {"kind": "Deployment", "name": "web", "uid": "d"}
RS: dict[str, Any] = {"kind": "ReplicaSet", "name": "web-1", "uid": "rs"}
ASK = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}


def there(kind: str, name: str, **fields: Any) -> Any:
    return make(
        kind, name, namespace=fields.pop("namespace", "default"), uid=fields.pop("uid", f"{kind}-{name}"), **fields
    )


def applied(stored: list[Any], *given: Any) -> Applied:
    return apply(LiveObjects(stored, ("default-scheduler",)), [(item, FILE) for item in given])


def only(overlay: Applied) -> Any:
    """The object of the manifests."""
    (item,) = (item for item, origin in overlay.objects if origin is FILE)
    return item


def test_what_no_manifest_touches_stands_and_comes_first_pods_by_age() -> None:
    old = [
        api.Pod(metadata=api.ObjectMeta(name=name, namespace="x", uid=name, creation_timestamp=created))
        for name, created in (("young", "2026-01-02T00:00:00Z"), ("old", "2026-01-01T00:00:00Z"))
    ]
    found = applied([*old, there("Node", "n", namespace="", uid="n")], pod("new", namespace="x"))
    assert [item.metadata.name for item, _ in found.objects] == ["n", "old", "young", "new"]
    assert found.preexisting == {"n", "old", "young"}
    assert found.notes == []


def test_an_object_of_the_same_name_is_updated() -> None:
    stored = there("Service", "web", uid="s", labels={"a": "1", "b": "1"}, annotations={"x": "y"})
    overlay = applied(
        [stored], make("Service", "web", namespace="default", labels={"a": "2"}, spec={"selector": {"q": "r"}})
    )
    found = only(overlay)
    assert len(overlay.objects) == 1
    assert overlay.preexisting == frozenset()
    assert overlay.notes == ["in the cluster already, and updated by the manifests: 1 Service (default/web)"]
    assert found.metadata.uid == "s"
    assert found.metadata.labels == {"a": "2", "b": "1"}
    assert found.metadata.annotations == {"x": "y"}
    assert found.spec.selector == {"q": "r"}


def test_another_namespace_is_another_object() -> None:
    assert len(applied([there("Service", "web")], make("Service", "web", namespace="x")).objects) == 2


TAINT = {"key": "k", "effect": "NoSchedule"}
KEPT: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ("Pod", {"nodeName": "n"}, {}, {"node_name": "n"}),
    ("Deployment", {"replicas": 7}, {}, {"replicas": 7}),
    ("Deployment", {"replicas": 7}, {"replicas": 0}, {"replicas": 0}),
    ("StatefulSet", {"replicas": 2}, {"replicas": 3}, {"replicas": 3}),
    ("Node", {"unschedulable": True, "taints": [TAINT]}, {}, {"unschedulable": True, "taints": (api.Taint(**TAINT),)}),
    (
        "PersistentVolumeClaim",
        {"volumeName": "v", "storageClassName": "c"},
        {},
        {"volume_name": "v", "storage_class_name": "c"},
    ),
    ("PodDisruptionBudget", {"minAvailable": 1}, {"maxUnavailable": 2}, {"min_available": None, "max_unavailable": 2}),
]


@pytest.mark.parametrize(("kind", "stored", "given", "expected"), KEPT)
def test_what_the_cluster_fills_in_is_kept(
    kind: str, stored: dict[str, Any], given: dict[str, Any], expected: dict[str, Any]
) -> None:
    namespace = "" if kind == "Node" else "default"
    found = only(
        applied([there(kind, "a", namespace=namespace, spec=stored)], make(kind, "a", namespace=namespace, spec=given))
    )
    assert {name: getattr(found.spec, name) for name in expected} == expected


def test_the_status_stays_unless_the_manifest_has_one() -> None:
    stored = there("Node", "n", namespace="", status={"allocatable": {"cpu": "4"}})
    assert only(applied([stored], make("Node", "n"))).status.allocatable == {"cpu": "4"}
    bigger = make("Node", "n", status={"allocatable": {"cpu": "8"}})
    assert only(applied([stored], bigger)).status.allocatable == {"cpu": "8"}


def deployed(replicas: int = 2) -> list[Any]:
    """A deployment with its replica set and two pods, one of which waits."""
    return [
        workload("Deployment", "web", namespace="default", uid="d", replicas=replicas, pod=ASK),
        workload("ReplicaSet", "web-1", namespace="default", uid="rs", owner=WEB, replicas=replicas, pod=ASK),
        pod("web-a", "n", namespace="default", uid="a", owner=RS),
        pod("web-b", namespace="default", uid="b", owner=RS),
        pod("other", namespace="default", uid="o"),
    ]


def test_another_template_takes_all_pods_away() -> None:
    new = workload("Deployment", "web", namespace="default", pod={"nodeSelector": {"a": "b"}})
    found = applied(deployed(), new)
    assert found.preexisting == {"o"}
    assert only(found).spec.template == new.spec.template
    assert found.notes[1:] == [
        "Deployment default/web gets another pod template, so 2 pods will be replaced, all at once"
    ]


def test_the_same_template_in_other_words_leaves_the_pods_alone() -> None:
    said = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1000m"}}}], "restartPolicy": "Always"}
    found = applied(deployed(), workload("Deployment", "web", namespace="default", replicas=5, pod=said))
    assert found.preexisting == {"rs", "a", "b", "o"}
    assert only(found).spec.template == deployed()[0].spec.template
    assert only(found).spec.replicas == 5
    assert len(found.notes) == 1


def test_nothing_is_scaled_down() -> None:
    found = applied(deployed(), workload("Deployment", "web", namespace="default", replicas=1, pod=ASK))
    assert {"a", "b"} <= found.preexisting
    assert found.notes[1:] == ["Deployment default/web has 1 pod more than it asks for; scaling down is not simulated"]


@pytest.mark.parametrize("kind", ["ReplicaSet", "Job"])
def test_workloads_that_replace_no_pods(kind: str) -> None:
    owner = {"kind": kind, "name": "w", "uid": "w"}
    stored = [workload(kind, "w", namespace="default", uid="w"), pod("w-a", namespace="default", uid="a", owner=owner)]
    found = applied(stored, workload(kind, "w", namespace="default", pod={"nodeSelector": {"a": "b"}}))
    assert found.preexisting == {"a"}
    assert len(found.notes) == 1


def test_pods_that_wait_for_others_are_told_and_left_out() -> None:
    stored = [
        node("n"),
        pod("a", namespace="x", uid="a", schedulerName="mine"),
        pod("b", namespace="x", uid="b", schedulerName="mine"),
        pod("runs", "n", namespace="x", uid="c", schedulerName="mine"),
    ]
    found = applied(stored, pod("d", namespace="x", schedulerName="mine"))
    assert [item.metadata.name for item, _ in found.objects] == ["n", "runs", "d"]
    assert found.notes == ['pending pods of schedulerName "mine", not scheduled: 2 pods (x/a, x/b)']
