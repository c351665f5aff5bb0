"""The prioritize verb: integers of 0 to 10, whatever plugins give."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.builders import node, pod
from tests.unit.extender.handlers.handler_fakes import FakeClusterCache, Tiers, full, named, reply_json

from stowplan.extender.handlers import GroupMember, Handlers
from stowplan.extender.policy import FailurePolicy, OperatorPolicy, PodSelection
from stowplan.framework import CycleState, NodeInfo, Nodes, Plugin, Pod, Status


def scored(**by_name: float) -> list[dict[str, Any]]:
    return [node(name, labels={"score": str(score)}) for name, score in by_name.items()]


def scores(reply: Any) -> dict[str, int]:
    return {entry["Host"]: entry["Score"] for entry in reply_json(reply)}


def test_scores_become_integers_of_the_extenders_scale() -> None:
    reply = Handlers([GroupMember(Tiers)]).prioritize(full(*scored(a=0, b=4, c=5, d=47.9, e=95, f=100)))
    assert scores(reply) == {"a": 0, "b": 0, "c": 1, "d": 5, "e": 10, "f": 10}
    assert all(type(entry["Score"]) is int for entry in reply_json(reply))
    assert reply.decision().totals == scores(reply)


def test_names_and_strangers() -> None:
    handlers = Handlers([GroupMember(Tiers)], cluster_cache=FakeClusterCache(*scored(a=30)))
    assert scores(handlers.prioritize(named("new", "a", "a"))) == {"new": 0, "a": 3}


def test_scores_are_averaged_by_weight() -> None:
    class Flat(Plugin):
        name = "flat"

        def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> float:
            return 100

    members = [GroupMember(Tiers, weight=1), GroupMember(Flat, weight=3)]
    assert scores(Handlers(members).prioritize(full(*scored(a=0, b=100)))) == {"a": 8, "b": 10}
    members[1].selector = PodSelection(namespaces=("elsewhere",))
    assert scores(Handlers(members).prioritize(full(*scored(a=0, b=100)))) == {"a": 0, "b": 10}


def test_normalising_is_over_the_nodes_of_the_request() -> None:
    class Stretched(Tiers):
        normalize = "min-max"

    handlers = Handlers([GroupMember(Stretched)])
    assert scores(handlers.prioritize(full(*scored(a=3, b=4, c=7)))) == {"a": 0, "b": 3, "c": 10}
    assert scores(handlers.prioritize(full(*scored(a=3, b=4)))) == {"a": 0, "b": 10}


class Remembering(Plugin):
    name = "remembering"

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        state.write("filtered", nodes.meant)
        return None

    def pre_score(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        state.write("scored", nodes.meant)
        return None

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> float:
        return float(10 * state.read("filtered") + 10 * state.read("scored"))


def test_one_state_lives_from_filter_to_prioritize() -> None:
    handlers = Handlers([GroupMember(Remembering)])
    handlers.filter(full(*scored(a=0, b=0, c=0)))
    assert scores(handlers.prioritize(full(*scored(a=0, b=0)))) == {"a": 5, "b": 5}
    assert scores(handlers.prioritize(full(*scored(a=0), of=pod("another")))) == {"a": 2}
    handlers.filter(full(*scored(a=0)))
    assert scores(handlers.prioritize(full(*scored(a=0, b=0)))) == {"a": 3, "b": 3}


@pytest.mark.parametrize("given", [float("nan"), -1, 101, "7"])
def test_what_is_no_score_makes_all_nodes_equal_and_is_logged(given: Any, caplog: pytest.LogCaptureFixture) -> None:
    class Wrong(Plugin):
        name = "wrong"

        def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> float:
            return given  # type: ignore[no-any-return]

    reply = Handlers([GroupMember(Wrong)]).prioritize(full(*scored(a=0, b=0)))
    assert scores(reply) == {"a": 0, "b": 0}
    assert "wrong" in reply.facts.error
    assert "equal scores" in caplog.text


def test_the_cached_answer() -> None:
    class Moody(Tiers):
        def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> float:
            if node.labels["score"] == "-1":
                raise RuntimeError("not now")
            return super().score(state, pod, node)

    handlers = Handlers([GroupMember(Moody)], OperatorPolicy(failure_policy=FailurePolicy(prioritize="cached")))
    handlers.prioritize(full(*scored(a=70, b=20)))
    assert scores(handlers.prioritize(full(*scored(a=70, b=20, c=-1)))) == {"a": 7, "b": 2, "c": 0}


def test_shadow_and_spared_pods_get_no_preference() -> None:
    shadow = Handlers([GroupMember(Tiers)], OperatorPolicy(shadow=True)).prioritize(full(*scored(a=70)))
    assert scores(shadow) == {"a": 0}
    assert shadow.decision().totals == {"a": 7}
    own = OperatorPolicy(own_pods=PodSelection(namespaces=("default",)))
    assert scores(Handlers([GroupMember(Tiers)], own).prioritize(full(*scored(a=70)))) == {"a": 0}


def test_bad_requests_and_missing_caches() -> None:
    handlers = Handlers([GroupMember(Tiers)])
    assert handlers.prioritize(b"[]").status == 400
    reply = handlers.prioritize(named("a"))
    assert json.loads(reply.body) == [{"Host": "a", "Score": 0}]
    assert "set nodeCacheCapable: false" in reply.facts.error
