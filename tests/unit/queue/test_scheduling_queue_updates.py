from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from tests.unit.queue.fakes import NODE_ADD, Rig, make_pod, pop_all


class TestUpdate:
    def test_in_the_active_queue(self) -> None:
        rig = Rig()
        old, new = make_pod("p"), make_pod("p", labels={"a": "b"})
        rig.queue.add(old)
        rig.queue.add(make_pod("q"))
        rig.queue.update(old, new)
        assert rig.pop().pod is new

    @pytest.mark.parametrize("keyed", [True, False])
    def test_that_changes_the_order(self, keyed: bool) -> None:
        rig = Rig(keyed=keyed)
        pods = {name: make_pod(name) for name in "abc"}
        for pod in pods.values():
            rig.queue.add(pod)
        rig.queue.update(pods["b"], make_pod("b", priority=3))
        rig.queue.update(pods["a"], make_pod("a", priority=-3))
        assert (len(rig.queue), pop_all(rig)) == (3, ["b", "c", "a"])

    @pytest.mark.parametrize(("rejectors", "place"), [(["Adds"], "backoff"), ([], "error_backoff")])
    def test_in_backoff(self, rejectors: list[str], place: str) -> None:
        rig = Rig()
        old, new = make_pod("p"), make_pod("p", labels={"a": "b"})
        rig.queue.add(old)
        unit = rig.pop()
        rig.queue.move(NODE_ADD, None, "helps")
        rig.fail(unit, *rejectors)
        rig.queue.update(old, new)
        assert rig.where() == place
        assert unit.pod is new

    @pytest.mark.parametrize(
        ("rejector", "change", "where"),
        [
            ("Own", {"labels": {"a": "b"}}, "active"),
            ("Own", {"tolerations": [{"operator": "Exists"}]}, "active"),
            ("Own", {"labels": {"a": "b"}, "tolerations": [{"operator": "Exists"}]}, "active"),
            ("Own", {"nominated": "n"}, "unschedulable"),
            ("Adds", {"labels": {"a": "b"}}, "unschedulable"),
            ("Any", {"labels": {"a": "b"}}, "active"),
            ("Any", {"nominated": "n"}, "active"),
        ],
    )
    def test_of_an_unschedulable_pod(self, rejector: str, change: dict[str, Any], where: str) -> None:
        rig = Rig()
        unit = rig.rejected("p", rejector)
        new = make_pod("p", **change)
        rig.queue.update(unit.pod, new)
        assert (rig.where(), unit.pod) == (where, new)

    def test_of_an_unschedulable_pod_respects_backoff(self) -> None:
        rig = Rig()
        rig.queue.add(make_pod("p"))
        unit = rig.fail(rig.pop(), "Own")
        rig.queue.update(unit.pod, make_pod("p", labels={"a": "b"}))
        assert rig.where() == "backoff"
        assert rig.entered[-1] == ("backoff", "UnschedulablePodUpdatePodLabel")

    def test_in_flight_is_remembered(self) -> None:
        rig = Rig()
        old, new = make_pod("p"), make_pod("p", labels={"a": "b"})
        rig.queue.add(old)
        unit = rig.pop()
        rig.queue.update(old, new)
        assert (rig.where(), unit.pod) == ("in_flight_pods", old)
        rig.fail(unit, "Own")
        assert rig.where() == "backoff"

    def test_of_an_unknown_pod_adds_it(self) -> None:
        rig = Rig()
        rig.queue.update(make_pod("p"), make_pod("p", nominated="n"))
        assert (rig.where(), rig.entered) == ("active", [("active", "UnschedulablePodUpdate")])
        assert rig.nominator.by_node.keys() == {"n"}


class TestNominations:
    def test_follow_the_status(self) -> None:
        rig = Rig()
        versions = [make_pod("p", nominated=node) for node in ("n", "m", "", "")]
        rig.queue.add(versions[0])
        for old, new in pairwise(versions):
            rig.queue.update(old, new)
            node = new.nominated_node_name
            assert rig.nominator.by_node == ({node: {new.uid: new}} if node else {})

    def test_that_are_not_written_yet_survive_updates(self) -> None:
        rig = Rig()
        unit = rig.rejected()
        rig.nominator.add(unit.pod, "n")
        new = make_pod("p", labels={"a": "b"})
        rig.queue.update(unit.pod, new)
        assert rig.nominator.by_node == {"n": {new.uid: new}}

    def test_end_with_the_pod(self) -> None:
        rig = Rig()
        rig.queue.add(make_pod("p", nominated="n"))
        rig.queue.remove(make_pod("p"))
        assert (rig.nominator.by_node, len(rig.queue)) == ({}, 0)
