"""What a watch tells: where it goes, and whom it wakes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.builders import ZONE, make, node, pod
from tests.builders.engine_host import Host

from stowplan.framework import Bind, ClusterEvent

BIG = pod("big", requests={"cpu": 9})
GONE = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def listening(host: Host) -> list[str]:
    """Labels of the events that the queue is told, with the names of the objects before and after."""
    told: list[str] = []
    move = host.state.queue.move

    def overheard(event: ClusterEvent, old: Any, new: Any, pre_check: Any = None) -> None:
        told.append(" ".join((event.label, *(_name(each) for each in (old, new)))))
        move(event, old, new, pre_check)

    host.state.queue.move = overheard  # type: ignore[method-assign]
    return told


def _name(item: Any) -> str:
    if item is None:
        return "-"
    name: str = item.metadata.name if hasattr(item, "metadata") else item.name
    return name


class TestNodes:
    @pytest.mark.parametrize(
        ("change", "events"),
        [
            ({"cpu": 8}, ["NodeUpdateNodeAllocatable a a"]),
            ({"labels": {"disk": "ssd"}}, ["NodeUpdateNodeLabel a a"]),
            ({"taints": [{"key": "k", "effect": "NoSchedule"}]}, ["NodeUpdateNodeTaint a a"]),
            ({"unschedulable": True}, []),
            ({"annotations": {"n": "1"}}, ["NodeUpdateNodeAnnotation a a"]),
            ({"cpu": 8, "zone": "z"}, ["NodeUpdateNodeAllocatable a a", "NodeUpdateNodeLabel a a"]),
            ({}, []),
        ],
    )
    def test_updates(self, change: dict[str, Any], events: list[str]) -> None:
        host = Host(node("a", cpu=4))
        told = listening(host)
        host.put(node("a", **{"cpu": 4, **change}))
        assert told == events
        info = host.engine.cluster.nodes.get("a")
        assert info is not None
        assert info.allocatable["cpu"] == 1000 * int(change.get("cpu", 4))

    def test_uncordoning_counts_as_a_change_of_taints(self) -> None:
        host = Host(node("a", unschedulable=True))
        told = listening(host)
        host.put(node("a"))
        assert told == ["NodeUpdateNodeTaint a a"]

    def test_coming_and_going(self) -> None:
        host = Host()
        told = listening(host)
        host.put(node("a"))
        host.delete(node("a"))
        host.engine.remove(make_node("b"))
        assert told == ["NodeAdd - a", "NodeDelete a -"]
        assert len(host.engine.cluster.nodes) == 0

    def test_a_node_that_goes_is_there_while_its_going_is_told(self) -> None:
        host = Host(node("a"))
        seen: list[int] = []
        host.state.queue.move = lambda *_: seen.append(len(host.engine.cluster.nodes))  # type: ignore[method-assign]
        host.delete(node("a"))
        assert seen == [1]


def make_node(name: str) -> Any:
    return make("Node", name)


class TestOtherKinds:
    @pytest.mark.parametrize(
        ("kind", "resource"),
        [
            ("PersistentVolume", "PersistentVolume"),
            ("PersistentVolumeClaim", "PersistentVolumeClaim"),
            ("StorageClass", "storage.k8s.io/StorageClass"),
            ("CSINode", "storage.k8s.io/CSINode"),
            ("CSIDriver", "storage.k8s.io/CSIDriver"),
            ("CSIStorageCapacity", "storage.k8s.io/CSIStorageCapacity"),
            ("VolumeAttachment", "storage.k8s.io/VolumeAttachment"),
            ("ResourceClaim", "resource.k8s.io/ResourceClaim"),
            ("DeviceClass", "resource.k8s.io/DeviceClass"),
        ],
    )
    def test_are_stored_and_told(self, kind: str, resource: str) -> None:
        host = Host()
        told = listening(host)
        item = make(kind, "x", "default")
        for _ in range(2):
            host.engine.put(item)
        assert list(host.engine.cluster.stores.of(type(item))) == [item]
        for _ in range(2):
            host.engine.remove(item)
        assert list(host.engine.cluster.stores.of(type(item))) == []
        assert [each.split()[0] for each in told] == [f"{resource}{action}" for action in ("Add", "Update", "Delete")]

    @pytest.mark.parametrize("kind", ["Service", "PodDisruptionBudget", "Namespace", "ReplicaSet"])
    def test_some_wake_nobody(self, kind: str) -> None:
        host = Host()
        told = listening(host)
        item = make(kind, "x")
        host.engine.put(item)
        assert (told, list(host.engine.cluster.stores.of(type(item)))) == ([], [item])


class TestPendingPods:
    def test_of_ours_are_queued(self) -> None:
        host = Host()
        host.put(pod("p"), pod("q", schedulerName="other"))
        assert set(host.engine.pending) == {"default/p"}
        assert host.place("p") == "active"

    def test_news_replace_what_is_queued(self) -> None:
        host = Host(BIG)
        host.put(pod("big", requests={"cpu": 9}, labels={"new": "label"}))
        assert host.unit("big").pod.labels == {"new": "label"}

    def test_the_same_version_is_no_news(self) -> None:
        host = Host(BIG)
        before = host.unit("big").pod
        host.engine.put(host.pod("big"))
        assert host.unit("big").pod is before

    def test_an_update_of_a_pod_wakes_it_alone(self) -> None:
        taint = [{"key": "k", "effect": "NoSchedule"}]
        host = Host(node("a", taints=taint), pod("p"), pod("q"))
        host.schedule()
        host.put(pod("p", tolerations=[{"operator": "Exists"}]))
        assert (host.place("p"), host.place("q")) == ("backoff", "unschedulable")

    def test_of_one_that_waits_behind_a_gate(self) -> None:
        host = Host(node("a"), pod("p", schedulingGates=[{"name": "g"}]))
        assert host.place("p") == "gated"
        host.put(pod("p"))
        host.schedule()
        assert host.node_of("p") == "a"

    def test_one_that_is_assumed_is_not_queued_again(self) -> None:
        host = Host(node("a"), pod("p"))
        host.schedule(Bind)
        host.put(pod("p", labels={"new": "label"}))
        assert (host.place("p"), host.assumed) == ("", {"p"})
        assert host.engine.pending["default/p"].pod.labels == {"new": "label"}

    def test_deleted_it_is_forgotten(self) -> None:
        host = Host(BIG)
        told = listening(host)
        host.delete(BIG)
        assert (host.engine.pending, len(host.state.queue), told) == ({}, 0, [])

    def test_finished_without_ever_running(self) -> None:
        host = Host(BIG)
        host.put(pod("big", status={"phase": "Failed"}))
        assert (host.engine.pending, len(host.state.queue)) == ({}, 0)

    def test_older_news_of_one_that_is_bound(self) -> None:
        host = Host(node("a"), pod("p"))
        old = host.pod("p")
        host.schedule()
        host.engine.put(old)
        assert (host.engine.pending, host.engine.cluster.pods["default/p"].node_name) == ({}, "a")


def first(**more: Any) -> Any:
    return pod("first", priority=5, requests={"cpu": 9}, **more)


class TestNominations:
    """To pods of at most its priority a nominated pod was as good as there."""

    @pytest.mark.parametrize(
        ("end", "woken"),
        [
            (lambda host: host.put(first()), True),
            (lambda host: host.put(first(nominated="b")), True),
            (lambda host: host.delete(first()), True),
            (lambda host: host.put(first(nominated="a", labels={"x": "y"})), False),
        ],
    )
    def test_their_end_is_told(self, end: Any, woken: bool) -> None:
        host = Host(node("a", cpu=1), BIG, pod("important", priority=9, requests={"cpu": 9}))
        host.put(first(nominated="a", preemptionPolicy="Never"))
        host.schedule()
        told = listening(host)
        end(host)
        assert told == (["AssignedPodDelete first -"] if woken else [])
        assert host.place("big") == ("backoff" if woken else "unschedulable")
        assert host.place("important") == "unschedulable"


class TestPodsOnNodes:
    def test_are_counted_and_told(self) -> None:
        host = Host(node("a", cpu=4))
        told = listening(host)
        host.put(pod("p", "a", requests={"cpu": 1}))
        host.put(pod("p", "a", requests={"cpu": 1}, labels={"x": "y"}))
        host.put(pod("p", "a", requests={"cpu": 1}, labels={"x": "y"}, metadata=GONE))
        host.delete(pod("p"))
        assert told == [
            "AssignedPodAdd - p",
            "AssignedPodUpdatePodLabel p p",
            "AssignedPodUpdate p p",
            "AssignedPodDelete p -",
        ]
        assert not host.engine.cluster.pods

    def test_one_that_finishes_frees_what_it_had(self) -> None:
        host = Host(node("a", cpu=4), pod("p", "a", requests={"cpu": 4}), pod("q", requests={"cpu": 4}))
        host.schedule()
        assert host.place("q") == "unschedulable"
        host.put(pod("p", "a", requests={"cpu": 4}, status={"phase": "Succeeded"}))
        host.schedule()
        assert host.node_of("q") == "a"

    def test_one_of_another_scheduler(self) -> None:
        host = Host(node("a"), pod("p", "a", schedulerName="other"))
        assert list(host.engine.cluster.pods) == ["default/p"]

    def test_one_on_a_node_that_is_not_known_yet(self) -> None:
        host = Host(pod("p", "a", requests={"cpu": 1}))
        assert list(host.engine.cluster.pods) == ["default/p"]
        host.put(node("a"))
        info = host.engine.cluster.nodes.get("a")
        assert info is not None
        assert list(info.pods) == ["default/p"]

    def test_confirmation_of_what_was_assumed(self) -> None:
        host = Host(node("a"), pod("p"))
        host.schedule(Bind)
        told = listening(host)
        host.settle()
        assert told == ["AssignedPodAdd - p"]
        assert (host.assumed, host.engine.pending) == (set(), {})

    def test_bound_by_somebody_else_while_it_was_queued(self) -> None:
        host = Host(node("a"), BIG)
        host.put(pod("big", "a", requests={"cpu": 9}))
        assert (len(host.state.queue), host.engine.pending) == (0, {})
        assert list(host.engine.cluster.pods) == ["default/big"]

    def test_bound_by_somebody_else_to_another_node_than_assumed(self) -> None:
        host = Host(node("a"), pod("p", requests={"cpu": 1}))
        host.schedule(Bind)
        host.put(node("b"), pod("p", "b", requests={"cpu": 1}))
        assert host.engine.cluster.pods["default/p"].node_name == "b"
        told = listening(host)
        host.settle()
        assert told == ["AssignedPodDelete p -"], "what it was assumed to hold is free"
        assert host.events("p") == []


def test_labels_that_nobody_read_before() -> None:
    """A constraint that selects by a label of single replicas makes pods differ that were alike."""
    index = "apps.kubernetes.io/pod-index"
    apart = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {index: "0"}}}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}
    host = Host(node("a", zone="z"), node("b", zone="y"))
    host.put(*(pod(f"p{i}", requests={"cpu": 1}, labels={index: str(i)}) for i in range(2)))
    host.schedule()
    host.put(pod("q", labels={index: "0"}, affinity={"podAntiAffinity": required}))
    host.schedule()
    zones = {"a": "z", "b": "y"}
    assert zones[host.node_of("q")] != zones[host.node_of("p0")]
