"""Nodes are asked again only where something changed."""

from __future__ import annotations

import pytest
from tests.builders import World, node
from tests.unit.plugins.dynamic_resources.allocation.supply import Json, claim, device, exactly, slice_

from stowplan import api
from stowplan.api import codec
from stowplan.framework import NodeInfo
from stowplan.plugins.dynamic_resources.allocation import Allocator, Solution
from stowplan.plugins.dynamic_resources.assume_cache import tracker_of
from stowplan.plugins.dynamic_resources.node_offers import FITS, LACKING, OffersByClaims


class Watched:
    """Three nodes with a device each, and who was asked."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.world = World([node(name) for name in "abc"])
        self.cluster = self.world.cluster
        self.cluster.put(codec.convert(api.DeviceClass, {"metadata": {"name": "any"}}))
        for name in "abc":
            self.publish(slice_(name, device("x"), pool=name, nodeName=name))
        self.allocated = tracker_of(self.cluster).allocated
        self.registry = OffersByClaims(self.cluster, self.allocated, self.cluster.stores.of(api.DeviceClass), 10)
        self.asked: list[str] = []
        solve = Allocator.solve

        def watched(allocator: Allocator, info: NodeInfo, *rest: object) -> object:
            self.asked.append(info.name)
            return solve(allocator, info, *rest)  # type: ignore[arg-type]

        patch.setattr(Allocator, "solve", watched)

    def publish(self, item: Json) -> None:
        self.cluster.put(codec.convert(api.ResourceSlice, item))

    def hold(self, uid: str, pool: str) -> None:
        results = [{"driver": "d", "pool": pool, "device": "x"}]
        self.allocated.hold(uid, codec.convert(api.AllocationResult, {"devices": {"results": results}}))

    def ask(self, item: Json) -> tuple[str, list[int]]:
        """(the nodes that were asked, what is noted for all)."""
        self.asked.clear()
        claims = [codec.convert(api.ResourceClaim, item)]
        wanted = self.registry.allocator.prepare(claims)
        assert isinstance(wanted, tuple)
        offers = self.registry.offers(claims)
        for info in self.cluster.nodes:
            offers.on(info, wanted)
        return "".join(self.asked), offers.verdicts[:3].tolist()


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    return Watched(monkeypatch)


def test_claims_that_ask_for_the_same_share_answers(watched: Watched) -> None:
    assert watched.ask(claim(exactly(), name="one")) == ("abc", [FITS] * 3)
    assert watched.ask(claim(exactly(), name="two")) == ("", [FITS] * 3)
    assert watched.ask(claim(exactly(2))) == ("abc", [LACKING] * 3)


def test_a_device_that_is_taken_or_returned_concerns_its_node(watched: Watched) -> None:
    watched.ask(claim(exactly()))
    watched.hold("u", "b")
    assert watched.ask(claim(exactly())) == ("b", [FITS, LACKING, FITS])
    watched.allocated.release("u")
    assert watched.ask(claim(exactly())) == ("b", [FITS] * 3)


def test_a_change_of_slices_nodes_or_classes_is_noticed(watched: Watched) -> None:
    watched.ask(claim(exactly()))
    watched.publish(slice_("a", pool="a", nodeName="a"))
    assert watched.ask(claim(exactly()))[1] == [LACKING, FITS, FITS]
    watched.world.put_node(node("c", labels={"new": "label"}))
    assert watched.ask(claim(exactly())) == ("c", [LACKING, FITS, FITS])
    never = {"metadata": {"name": "any"}, "spec": {"selectors": [{"cel": {"expression": "false"}}]}}
    watched.cluster.put(codec.convert(api.DeviceClass, never))
    assert watched.ask(claim(exactly())) == ("abc", [LACKING] * 3)


def test_more_nodes_than_there_was_room_for(watched: Watched) -> None:
    watched.ask(claim(exactly()))
    for i in range(100):
        watched.world.put_node(node(f"n{i}"))
    asked, verdicts = watched.ask(claim(exactly()))
    assert len(watched.asked) == 103
    assert verdicts == [FITS] * 3
    assert asked.startswith("abc")


def test_failures_name_a_claim_and_are_not_remembered(watched: Watched) -> None:
    watched.ask(claim(exactly(33)))
    assert watched.ask(claim(exactly(33)))[0] == "abc"


def test_scores_of_alternatives(watched: Watched) -> None:
    claims = [codec.convert(api.ResourceClaim, claim([exactly(2), exactly(1)]))]
    wanted = watched.registry.allocator.prepare(claims)
    assert isinstance(wanted, tuple)
    offers = watched.registry.offers(claims)
    for info in watched.cluster.nodes:
        assert isinstance(offers.on(info, wanted), Solution)
    assert offers.scores[:3].tolist() == [7, 7, 7]
