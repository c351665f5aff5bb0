from typing import Any

from tests.builders import make
from tests.unit.simulator.simulated_cluster import SimulatedCluster, pod, workload

from stowplan.simulator.input.documents import Origin
from stowplan.simulator.input.ownership import Ownership, count_of, describe, listed


def link(*items: Any) -> Ownership:
    return Ownership([(item, Origin(f"{i}.yaml")) for i, item in enumerate(items)])


def ref(name: str, uid: str = "", kind: str = "ReplicaSet") -> dict[str, Any]:
    return {"kind": kind, "name": name, **({"uid": uid} if uid else {})}


def owners(found: Ownership) -> list[str | None]:
    named = (found.owner_of(item) for item, _ in found.objects)
    return [None if owner is None else describe(owner) for owner in named]


def test_owners_are_found_by_uid() -> None:
    found = link(workload("ReplicaSet", "web", uid="u"), pod("a", owner=ref("web", "u")))
    assert owners(found) == [None, "ReplicaSet web"]


def test_an_owner_with_another_uid_is_another_object() -> None:
    assert owners(link(workload("ReplicaSet", "web", uid="new"), pod("a", owner=ref("web", "old")))) == [None, None]


def test_without_uids_owners_are_found_by_name() -> None:
    found = link(workload("ReplicaSet", "web", namespace="x"), pod("a", namespace="x", owner=ref("web")))
    assert owners(found) == [None, "ReplicaSet x/web"]
    apart = link(workload("ReplicaSet", "web", namespace="x"), pod("a", namespace="y", owner=ref("web")))
    assert owners(apart) == [None, None]


def test_an_owner_without_uid_gets_the_one_it_is_known_by() -> None:
    found = link(workload("ReplicaSet", "web"), pod("a", owner=ref("web", "u")), pod("b", owner=ref("web")))
    assert found.objects[0][0].metadata.uid == "u"
    assert owners(found) == [None, "ReplicaSet web", "ReplicaSet web"]


def test_owners_in_no_namespace() -> None:
    found = link(make("Node", "n1"), pod("a", namespace="x", owner=ref("n1", kind="Node")))
    assert owners(found) == [None, "Node n1"]


def test_new_uids_are_those_that_a_world_would_give() -> None:
    ((item, _),) = link(pod("a", namespace="default")).objects
    assert item.metadata.uid == SimulatedCluster(pod("a")).pod("a").metadata.uid


def test_circles_are_told_of_once() -> None:
    circle = [
        workload("ReplicaSet", "a", owner=ref("c")),
        workload("ReplicaSet", "b", owner=ref("a")),
        workload("ReplicaSet", "c", owner=ref("b")),
        pod("d", owner=ref("c")),
        workload("ReplicaSet", "e", owner=ref("e")),
        workload("ReplicaSet", "f"),
    ]
    assert list(link(*circle).problems()) == [
        "0.yaml: $.metadata.ownerReferences: cycle: ReplicaSet a -> ReplicaSet c -> ReplicaSet b -> ReplicaSet a",
        "4.yaml: $.metadata.ownerReferences: cycle: ReplicaSet e -> ReplicaSet e",
    ]


def test_numbers_and_names() -> None:
    assert [count_of(number, "pod") for number in (0, 1, 2)] == ["0 pods", "1 pod", "2 pods"]
    assert listed("pod", ["a"]) == "1 pod (a)"
    assert listed("pod", "abcd", max_names=2) == "4 pods (a, b, ...)"
