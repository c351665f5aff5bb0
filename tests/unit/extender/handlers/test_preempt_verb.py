"""The preempt verb: fewer victims, and never a reply that breaks the scheduler."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest
from tests.builders import node, pod
from tests.unit.extender.handlers.handler_fakes import FakeClusterCache, Tiers, encode, reply_json

from stowplan.extender.handlers import GroupMember, Handlers
from stowplan.extender.policy import FailurePolicy, OperatorPolicy
from stowplan.framework import CycleState, Plugin, Pod

Victims = Mapping[str, Iterable[Pod]]


def keeping(select: Callable[[dict[str, list[Pod]]], Any]) -> GroupMember:
    class Keeper(Plugin):
        name = "keeper"

        def select_victims(self, state: CycleState, pod: Pod, victims: Victims) -> Victims:
            return select({name: list(pods) for name, pods in victims.items()})  # type: ignore[no-any-return]

    return GroupMember(Keeper)


def full(**by_node: tuple[list[str], int]) -> bytes:
    candidates = {
        name: {"Pods": [pod(victim, priority=-1) for victim in victims], "NumPDBViolations": violations}
        for name, (victims, violations) in by_node.items()
    }
    return encode({"Pod": pod("vip"), "NodeNameToVictims": candidates, "NodeNameToMetaVictims": None})


def by_uid(**by_node: list[str]) -> bytes:
    candidates = {
        name: {"Pods": [{"UID": uid} for uid in uids], "NumPDBViolations": 0} for name, uids in by_node.items()
    }
    return encode({"Pod": pod("vip"), "NodeNameToVictims": None, "NodeNameToMetaVictims": candidates})


def evictions(reply: Any) -> dict[str, tuple[list[str], int]]:
    nodes = reply_json(reply)["NodeNameToMetaVictims"]
    return {name: ([each["UID"] for each in v["Pods"]], v["NumPDBViolations"]) for name, v in nodes.items()}


def test_nodes_and_victims_can_be_left_out() -> None:
    member = keeping(lambda victims: {"n1": [v for v in victims["n1"] if v.name != "b"]})
    reply = Handlers([member]).preempt(full(n1=(["a", "b"], 2), n2=(["c"], 0)))
    assert evictions(reply) == {"n1": (["default/a"], 1)}
    assert (reply.facts.nodes_in, reply.facts.nodes_out) == (2, 1)
    assert reply.decision().preemption is not None


def test_uids_are_looked_up_in_the_cache() -> None:
    cache = FakeClusterCache(node("n1"), pod("a", on="n1", priority=5), pod("b", on="n1", priority=9))
    member = keeping(lambda victims: {"n1": [v for v in victims["n1"] if v.priority < 9]})
    reply = Handlers([member], cluster_cache=cache).preempt(by_uid(n1=["default/a", "default/b"]))
    assert evictions(reply) == {"n1": (["default/a"], 0)}


def test_uids_without_a_cache_are_an_error() -> None:
    reply = Handlers([keeping(lambda victims: victims)]).preempt(by_uid(n1=["a"]))
    assert reply.status == 500
    assert "uids of victims only" in json.loads(reply.body)["Error"]
    assert "set nodeCacheCapable: false" in json.loads(reply.body)["Error"]


def test_without_a_plugin_nothing_changes() -> None:
    assert evictions(Handlers([GroupMember(Tiers)]).preempt(by_uid(n1=["a"], n2=["b"]))) == {
        "n1": (["a"], 0),
        "n2": (["b"], 0),
    }


def test_another_node_of_the_cluster_may_be_named() -> None:
    cache = FakeClusterCache(node("n1"), node("n2"), pod("x", on="n2"))
    member = keeping(lambda victims: {"n2": list(cache.cluster.nodes.get("n2").pods.values())})  # type: ignore[union-attr]
    assert evictions(Handlers([member], cluster_cache=cache).preempt(by_uid(n1=["a"]))) == {"n2": (["default/x"], 0)}


@pytest.mark.parametrize(
    "select",
    [
        lambda victims: {"n1": []},
        lambda victims: {"n1": [], "n9": []},
        lambda victims: {"n9": victims["n1"]},
        lambda victims: {"n1": victims["n2"]},
    ],
)
def test_what_the_scheduler_would_choke_on_is_left_out(select: Callable[[Any], Any]) -> None:
    assert evictions(Handlers([keeping(select)]).preempt(full(n1=(["a"], 0), n2=(["b"], 0)))) == {}


def test_empty_lists_stay_where_the_scheduler_sent_them() -> None:
    assert evictions(Handlers([keeping(lambda victims: victims)]).preempt(full(n1=([], 0)))) == {"n1": ([], 0)}


@pytest.mark.parametrize(
    "select", [lambda victims: None, lambda victims: {"n1": [None]}, lambda victims: 1 / 0, lambda victims: {"n1": 7}]
)
def test_failures_are_told_by_the_status(select: Callable[[Any], Any]) -> None:
    reply = Handlers([keeping(select)]).preempt(full(n1=(["a"], 0)))
    assert reply.status == 500
    assert "keeper" in json.loads(reply.body)["Error"]


def test_failure_policies() -> None:
    broken = keeping(lambda victims: 1 / 0)
    passing = Handlers([broken], OperatorPolicy(failure_policy=FailurePolicy(preempt="pass")))
    assert evictions(passing.preempt(full(n1=(["a"], 1)))) == {"n1": (["default/a"], 1)}
    moody = keeping(lambda victims: {"n1": victims["n1"][:1]} if "n2" not in victims else 1 / 0)
    cached = Handlers([moody], OperatorPolicy(failure_policy=FailurePolicy(preempt="cached")))
    assert cached.preempt(full(n1=(["a"], 0), n2=(["b"], 0))).status == 500
    cached.preempt(full(n1=(["a", "b"], 0)))
    assert evictions(cached.preempt(full(n1=(["a", "b"], 0), n2=(["c"], 0)))) == {"n1": (["default/a"], 0)}


def test_shadow_mode_changes_nothing() -> None:
    handlers = Handlers([keeping(lambda victims: {})], OperatorPolicy(shadow=True))
    assert evictions(handlers.preempt(full(n1=(["a"], 1)))) == {"n1": (["default/a"], 1)}
