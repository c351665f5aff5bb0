"""What Filter and Score say of nodes, in kube-scheduler's words."""

from __future__ import annotations

from typing import Any

import pytest
from tests.builders import World, node, pod
from tests.unit.plugins.dynamic_resources.allocation.supply import Json, claim, device, exactly, slice_

from stowplan import api
from stowplan.api import codec
from stowplan.framework import Code, CycleState
from stowplan.plugins.dynamic_resources.allocation import AllocationFailure, Allocator
from stowplan.plugins.dynamic_resources.claims import PodClaims

HOST = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}]}
SMALL, LARGE = 'device.attributes["d"].size == 1', 'device.attributes["d"].size == 2'


def given(name: str, **allocation: Any) -> Json:
    """A claim that has devices already."""
    return claim(exactly(), name=name) | {"status": {"allocation": {"devices": {"results": []}, **allocation}}}


class Cycle:
    """One pod with claims on nodes a (a small device and a large one) and b (a small one)."""

    def __init__(self, *claims: Json, requests: Json | None = None, slices: tuple[Json, ...] | None = None) -> None:
        self.world = World([node("a"), node("b", extra={"example.com/fpga": "1"})])
        self.plugin = self.world.plugin("DynamicResources")
        self.put(api.DeviceClass, {"metadata": {"name": "any"}, "spec": {"extendedResourceName": "example.com/fpga"}})
        here = slice_("a", device("x", size=1), device("y", size=2), pool="a", nodeName="a")
        for item in slices or (here, slice_("b", device("x", size=1), pool="b", nodeName="b")):
            self.put(api.ResourceSlice, item)
        for item in claims:
            item["metadata"]["namespace"] = "default"
            self.put(api.ResourceClaim, item)
        named = [{"name": c["metadata"]["name"], "resourceClaimName": c["metadata"]["name"]} for c in claims]
        self.pod = self.world.pod(pod("p", resourceClaims=named, requests=requests or {}))
        self.state = CycleState()
        self.nodes = self.world.cluster.nodes.everything()
        self.refused = self.plugin.pre_filter(self.state, self.pod, self.nodes)

    def put(self, kind: Any, item: Json) -> None:
        self.world.cluster.put(codec.convert(kind, item))

    @property
    def claims(self) -> PodClaims:
        found: PodClaims = self.state.get("PreFilterDynamicResources")
        return found

    def statuses(self) -> dict[str, tuple[Code, str] | None]:
        """By both forms, which must agree."""
        vector: dict[str, tuple[Code, str] | None] = dict.fromkeys("ab")
        for mask, status in self.plugin.filter_nodes(self.state, self.pod, self.nodes):
            vector |= {name: (status.code, status.message) for name, hit in zip("ab", mask, strict=True) if hit}
        for name in "ab":
            status = self.plugin.filter(self.state, self.pod, self.world.cluster.nodes.get(name))
            assert vector[name] == (None if status is None else (status.code, status.message))
        return vector


CANNOT = (Code.UnschedulableAndUnresolvable, "cannot allocate all claims")
AWAY = (Code.UnschedulableAndUnresolvable, "resourceclaim not available on the node")


@pytest.mark.parametrize(
    ("claims", "on_a", "on_b"),
    [
        ([claim(exactly())], None, None),
        ([claim(exactly(1, LARGE))], None, CANNOT),
        ([claim(exactly(2))], None, CANNOT),
        ([claim(exactly(), name="one"), claim(exactly(), name="two")], None, CANNOT),
        ([given("one", nodeSelector=HOST)], None, AWAY),
        ([given("one", nodeSelector=HOST), claim(exactly())], None, AWAY),
        # Devices that cannot be had are told of before those that cannot be reached.
        ([given("one", nodeSelector=HOST), claim(exactly(1, LARGE))], None, CANNOT),
        (
            [claim(exactly(1_000_000))],
            *[(Code.Error, "claim default/c: number of requested devices 1000000 exceeds the claim limit of 32")] * 2,
        ),
        ([claim(exactly(1, "1 +"))], *[(Code.Error, "CEL compile error")] * 2),
        ([claim(exactly(1, "device.driver"))], *[(Code.Error, "must evaluate to bool")] * 2),
        ([claim(exactly(1, "device.attributes['d'].no"))], *[(Code.Error, "no such key: no")] * 2),
        (
            [claim(exactly(1, "lists.range(9999).all(x, lists.range(9999).all(y, true))"))],
            *[(Code.Error, "cost limit")] * 2,
        ),
        ([claim(exactly(0))], None, None),
    ],
)
def test_what_nodes_are_told(claims: list[Json], on_a: tuple[Code, str] | None, on_b: tuple[Code, str] | None) -> None:
    told = Cycle(*claims).statuses()
    for name, wanted in (("a", on_a), ("b", on_b)):
        found = told[name]
        assert (found is None) == (wanted is None)
        if found is not None and wanted is not None:
            assert found[0] == wanted[0]
            assert wanted[1] in found[1]


def test_a_slice_with_duplicate_devices_is_told_where_nothing_else_helps() -> None:
    twice = slice_("a", device("x"), device("x"), pool="a", nodeName="a")
    fine = slice_("b", device("x"), pool="b", nodeName="b")
    told = Cycle(claim(exactly()), slices=(twice, fine)).statuses()
    assert told["a"] == (Code.UnschedulableAndUnresolvable, "invalid resource pools were encountered")
    assert told["b"] is None


def test_claims_that_were_of_no_use_are_remembered() -> None:
    cycle = Cycle(claim(exactly()), given("one", nodeSelector=HOST))
    cycle.statuses()
    assert cycle.claims.unavailable == {1}


def test_a_class_that_nobody_has() -> None:
    refused = Cycle(claim(exactly(of="nobody"))).refused
    assert refused.message == "request r0: device class nobody does not exist"
    assert refused.code == Code.UnschedulableAndUnresolvable


def test_a_claim_that_is_being_allocated_for_another_pod() -> None:
    cycle = Cycle(claim(exactly()))
    found = cycle.claims.allocations["a"]
    cycle.plugin._tracker.take_off(cycle.claims.user[0].claim, found.results[0])
    refused = cycle.plugin.pre_filter(CycleState(), cycle.pod, cycle.nodes)
    assert refused.message == "resource claim default/c is in the process of being allocated"


def test_allocations_are_there_for_nodes_that_passed() -> None:
    cycle = Cycle(claim(exactly(1, LARGE)))
    assert list(cycle.claims.allocations) == ["a"]
    assert [item.device for item in cycle.claims.allocations["a"].results[0].devices.results] == ["y"]
    assert cycle.claims.allocations.get("b") is None
    assert cycle.claims.allocations.get("nowhere") is None


def test_extended_resources_are_served_by_devices_where_the_node_offers_none() -> None:
    cycle = Cycle(requests={"example.com/fpga": "2"})
    assert cycle.statuses() == {"a": None, "b": None}
    found = cycle.claims.allocations["a"]
    assert [item.device for item in found.results[0].devices.results] == ["x", "y"]
    assert found.special is not None
    assert found.special.spec.devices.requests[0].name == found.mappings[0].request_name
    assert cycle.claims.allocations.get("b") is None
    assert Cycle(requests={"example.com/fpga": "3"}).statuses() == {"a": CANNOT, "b": None}


RESOURCES = tuple(f"example.com/r{number}" for number in range(10))


@pytest.mark.parametrize("count", [1, 2, 3, 9])
@pytest.mark.parametrize("unbacked", [False, True], ids=["all backed", "one without a class"])
def test_extended_resources_that_only_some_nodes_offer(count: int, unbacked: bool) -> None:
    """Each resource is offered by every second node, by pairs of nodes, and so on; others have devices, or too few."""
    names = RESOURCES[:count]
    offers = [{name: "4" for bit, name in enumerate(names) if number >> bit & 1} for number in range(8)]
    world = World([node(f"n{number}", extra=extra) for number, extra in enumerate(offers)])
    for number, name in enumerate(names[1:] if unbacked else names):
        meta, spec = {"name": f"class-{number}"}, {"extendedResourceName": name}
        world.cluster.put(codec.convert(api.DeviceClass, {"metadata": meta, "spec": spec}))
    for number in range(8):
        devices = [device(f"d{i}") for i in range(number % 3)]
        here = slice_(f"n{number}", *devices, pool=f"n{number}", nodeName=f"n{number}")
        world.cluster.put(codec.convert(api.ResourceSlice, here))
    plugin, wanting = world.plugin("DynamicResources"), world.pod(pod("p", requests=dict.fromkeys(names, "1")))
    state, nodes = CycleState(), world.cluster.nodes.everything()
    plugin.pre_filter(state, wanting, nodes)
    rejected: dict[int, Any] = {}
    for mask, status in plugin.filter_nodes(state, wanting, nodes):
        rejected |= {position: status for position in mask.nonzero()[0].tolist() if position not in rejected}
    for position, info in nodes.infos():
        assert rejected.get(position) == plugin.filter(state, wanting, info), info.name
    scores = plugin.score_nodes(state, wanting, nodes)
    for position, info in nodes.infos():
        assert position in rejected or scores[position] == plugin.score(state, wanting, info)
    assert bool(rejected) is (count > unbacked)  # Without any class the plugin does nothing.
    assert len(rejected) < 8 or unbacked or count == 9


def test_alternatives_that_are_preferred_count() -> None:
    cycle = Cycle(claim([exactly(1, LARGE), exactly(1, SMALL)]))
    cycle.statuses()
    assert cycle.plugin.score_nodes(cycle.state, cycle.pod, cycle.nodes).tolist() == [8, 7]
    for name, score in (("a", 8), ("b", 7)):
        assert cycle.plugin.score(cycle.state, cycle.pod, cycle.world.cluster.nodes.get(name)) == score
    assert not Cycle(given("one")).plugin.score_nodes(CycleState(), cycle.pod, cycle.nodes).any()


def test_one_search_that_takes_too_long_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def slow(allocator: Allocator, info: Any, *rest: object) -> AllocationFailure:
        asked.append(info.name)
        return AllocationFailure(f"node {info.name}: timed out trying to allocate devices", timed_out=True)

    monkeypatch.setattr(Allocator, "solve", slow)
    cycle = Cycle(claim(exactly()))
    ((mask, status), *_) = cycle.plugin.filter_nodes(cycle.state, cycle.pod, cycle.nodes)
    assert asked == ["a"]
    assert mask.all()
    assert status.code == Code.Error
    assert status.message == "node a: timed out trying to allocate devices"


def test_a_pass_over_all_nodes_may_take_no_longer_than_one_node(monkeypatch: pytest.MonkeyPatch) -> None:
    cycle = Cycle(claim(exactly()))
    now = iter((0.0, 5.0, 11.0))
    cycle.plugin._offers_by_claims.allocator.clock = lambda: next(now, 11.0)
    monkeypatch.setattr(Allocator, "solve", lambda *_: None)
    told = {
        status.message: mask.tolist() for mask, status in cycle.plugin.filter_nodes(cycle.state, cycle.pod, cycle.nodes)
    }
    assert told == {
        "node b: timed out trying to allocate devices": [False, True],
        "cannot allocate all claims": [True, False],
    }
