"""State that verbs share: the nodes of requests, dry runs, and the cycles of pods."""

from __future__ import annotations

import pytest
from tests.builders import Clock, Json, node, pod, typed
from tests.unit.extender.handlers.handler_fakes import FakeClusterCache, FakeReservations, Tiers, full, named

from stowplan.config.duration import Duration
from stowplan.errors import ConfigError
from stowplan.extender.handlers import GroupMember
from stowplan.extender.handlers.handler_state import HandlerState, NoCacheError
from stowplan.extender.handlers.verb_call import VerbCall
from stowplan.extender.policy import FailurePolicy, OperatorPolicy
from stowplan.extender.wire.server_requests import FilterRequest, read_filter
from stowplan.framework import Plugin


class Whole(Tiers):
    """Reads objects as the API server has them."""

    needs_objects = True


class Rig:
    """A state with one plugin."""

    def __init__(
        self,
        cache: FakeClusterCache | None = None,
        plugin: type[Plugin] = Tiers,
        reservations: FakeReservations | None = None,
        *,
        binds: bool = False,
        **policy: object,
    ) -> None:
        self.clock = Clock()
        settings = OperatorPolicy(**policy)  # type: ignore[arg-type]
        self.state = HandlerState([GroupMember(plugin)], settings, cache, reservations, self.clock, binds=binds)
        self.call = VerbCall("filter", b"", None, self.clock)

    def read(self, body: bytes) -> FilterRequest:
        return read_filter(body, self.state.known_nodes)

    def parts(self, body: bytes) -> list[tuple[bool, list[int] | None]]:
        """For each set of plugins that judges nodes: whether it is the informer cache's, and the positions."""
        found = self.state.plugins_for(self.call, self.read(body))
        return [(p is self.state.plugins, None if at is None else at.tolist()) for p, at in found]


def cached(*names: str, synced: bool = True) -> FakeClusterCache:
    return FakeClusterCache(*map(node, names), synced=synced)


def test_full_nodes_are_added_to_the_cluster() -> None:
    rig = Rig()
    assert rig.parts(full(node("a"), node("b"))) == [(True, None)]
    assert set(rig.state.plugins.cluster.nodes.slot_of) == {"a", "b"}
    assert not rig.call.facts.dry_run


def test_nodes_in_the_same_bytes_are_not_parsed_again() -> None:
    rig = Rig()
    rig.parts(full(node("a"), node("b")))
    again = rig.read(full(node("a"), node("b", 8)))
    assert [raw.name for raw in again.fresh] == ["b"]


def test_names_need_a_cache_or_the_policy_to_do_without() -> None:
    with pytest.raises(NoCacheError, match="nodeCacheCapable: false"):
        Rig().parts(named("a"))
    rig = Rig(bare_names=True)
    assert rig.parts(named("a", "b")) == [(True, None)]
    assert set(rig.state.plugins.cluster.nodes.slot_of) == {"a", "b"}


def test_a_cache_has_to_be_filled() -> None:
    with pytest.raises(NoCacheError, match="not filled yet"):
        Rig(cached("a", synced=False)).parts(named("a"))


def test_repeated_nodes_are_dropped() -> None:
    rig = Rig(cached("a", "b"))
    request = rig.read(named("b", "a", "b"))
    rig.state.plugins_for(rig.call, request)
    assert request.names == ["b", "a"]


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        (["a", "b"], [(True, None)]),
        (["a", "new", "b"], [(True, [0, 2]), (False, [1])]),
        (["new", "newer"], [(False, [0, 1])]),
    ],
)
def test_nodes_that_the_cache_does_not_know_are_judged_apart(
    nodes: list[str], expected: list[tuple[bool, list[int] | None]]
) -> None:
    rig = Rig(cached("a", "b"))
    assert rig.parts(full(*map(node, nodes))) == expected
    assert rig.call.facts.dry_run is (len(expected) > 1 or not expected[0][0])
    assert set(rig.state.plugins.cluster.nodes.slot_of) == {"a", "b"}, "they are not part of the cluster"


def test_few_nodes_of_earlier_requests_are_remembered() -> None:
    rig = Rig(cached("a"))
    for number in range(10):
        rig.parts(full(node("a"), node(f"n{number}")))
        assert len(rig.state.known_nodes) <= 4 * 2 + 2
    assert b"n9" in rig.state.known_nodes


@pytest.mark.parametrize(("plugin", "kept"), [(Tiers, False), (Whole, True)])
def test_whole_objects_are_kept_for_plugins_that_need_them(plugin: type[Plugin], kept: bool) -> None:
    rig = Rig(plugin=plugin)
    item: Json = pod("web", labels={"x": "y"})
    request = rig.read(full(node("a"), of=item))
    found = rig.state.pod(request)
    assert rig.state.plugins.cluster.keep_objects is kept
    assert found.labels == {"x": "y"}
    if kept:
        assert found.object["metadata"]["labels"] == {"x": "y"}


def test_verbs_served() -> None:
    assert Rig().state.serves == {"filter", "prioritize"}
    assert Rig(reservations=FakeReservations()).state.serves == {"filter", "prioritize"}
    assert Rig(reservations=FakeReservations(), binds=True).state.serves == {"filter", "prioritize", "bind"}


def test_earlier_answers_are_kept_for_the_verbs_that_fall_back_on_them() -> None:
    assert Rig().state.earlier_answers == {}
    assert set(Rig(failure_policy=FailurePolicy(filter="cached")).state.earlier_answers) == {"filter"}


def test_a_policy_is_validated() -> None:
    with pytest.raises(ConfigError, match="timeout"):
        Rig(http_timeout=Duration())


def test_a_new_cycle_releases_reservations_and_later_verbs_find_it() -> None:
    reservations = FakeReservations()
    rig = Rig(reservations=reservations)
    found = rig.state.plugins.cluster.pod(typed(pod("web")))
    first = rig.state.begin_cycle(rig.call, found)
    assert reservations.restarted == [found.uid]
    assert rig.state.current_cycle(rig.call, found) is first
    assert rig.state.begin_cycle(rig.call, found) is not first
    assert reservations.restarted == [found.uid] * 2


def test_a_dry_run_leaves_cycles_and_reservations_alone() -> None:
    reservations = FakeReservations()
    rig = Rig(reservations=reservations)
    found = rig.state.plugins.cluster.pod(typed(pod("web")))
    real = rig.state.begin_cycle(rig.call, found)
    rig.call.facts.dry_run = True
    assert rig.state.begin_cycle(rig.call, found) is not real
    assert rig.state.current_cycle(rig.call, found) is not real
    assert reservations.restarted == [found.uid]
    rig.call.facts.dry_run = False
    assert rig.state.current_cycle(rig.call, found) is real
