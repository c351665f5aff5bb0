"""The pod group cycle: the cases that its parts decide differently."""

from __future__ import annotations

from typing import Any

import pytest
from tests.builders import HOSTNAME, Json, World, away, member, node, pod, pod_group, selector, term

from stowplan import api
from stowplan.api import codec
from stowplan.config.feature_gates import (
    GANG_SCHEDULING,
    GENERIC_WORKLOAD,
    TOPOLOGY_AWARE,
    WORKLOAD_PREEMPTION,
    check_dependencies,
    parse_gates,
)
from stowplan.config.releases import LATEST
from stowplan.errors import ConfigError
from stowplan.framework import Plugin, Pod, reject, wait
from stowplan.runtime.groups import GroupDecision
from stowplan.runtime.groups.group_status import UNSCHEDULABLE_GROUP

CPU: Json = {"requests": {"cpu": "1"}}
WAITING = "waiting for minCount pods from a gang to be scheduled"


def world_of(*nodes: Json, gates: tuple[str, ...] = (), **more: Any) -> World:
    names = (GENERIC_WORKLOAD, GANG_SCHEDULING, *gates)
    return World(nodes, release=LATEST.with_gates(dict.fromkeys(names, True)), **more)


def put(world: World, group: Json, *members: Json) -> list[Pod]:
    world.cluster.put(codec.convert(api.PodGroup, group))
    return [world.add_member(each) for each in members]


def nodes_of(decision: GroupDecision) -> dict[str, str]:
    return {each.pod.name: each.node_name for each in decision.outcomes}


def members(count: int, **how: Any) -> list[Json]:
    return [member(f"m{i}", **{**CPU, **how}) for i in range(count)]


def test_all_members_or_none() -> None:
    world = world_of(node("n", cpu=3))
    decision = world.decide_group("g", put(world, pod_group("g", 4), *members(4)))
    assert decision.result == "unschedulable"
    assert set(nodes_of(decision).values()) == {""}
    assert decision.condition == ("False", "Unschedulable", UNSCHEDULABLE_GROUP)
    texts = [each.status.message for each in decision.outcomes if each.status is not None]
    assert all(text.startswith(f"{UNSCHEDULABLE_GROUP}, {WAITING}") for text in texts[:3])
    assert texts[3].startswith("0/1 nodes are available: 1 Insufficient cpu.")
    world.put_node(node("more"))
    assert world.decide_group("g", [each.pod for each in decision.outcomes]).result == "scheduled"


def test_members_beyond_the_minimum_may_be_left_over() -> None:
    world = world_of(node("n", cpu=3))
    decision = world.decide_group("g", put(world, pod_group("g", 2), *members(4)))
    assert decision.result == "scheduled"
    assert list(nodes_of(decision).values()) == ["n", "n", "n", ""]
    assert decision.condition == ("True", "Scheduled", "")


def test_running_members_count() -> None:
    world = world_of(node("n", cpu=3))
    running = member("old", on="n", **CPU)
    _, new = put(world, pod_group("g", 2), running, member("new", **CPU))
    assert nodes_of(world.decide_group("g", [new])) == {"new": "n"}


@pytest.mark.parametrize("leaving", [True, False])
def test_a_member_that_is_deleted_does_not_hold_its_nominated_node(leaving: bool) -> None:
    """It is taken from the queue with the others, and never bound."""
    deletion = {"deletionTimestamp": "2026-03-01T00:00:00Z"} if leaving else {}
    world = world_of(node("n", cpu=1))
    gone, new = put(world, pod_group("g", 1), member("gone", **CPU, nominated="n", **deletion), member("new", **CPU))
    world.profile.nominator.add(gone)
    assert nodes_of(world.decide_group("g", [new])) == {"new": "n" if leaving else ""}
    assert list(world.profile.nominator.on_node("n")) == [gone]


def test_higher_priority_goes_first() -> None:
    world = world_of(node("n", cpu=1))
    made = put(world, pod_group("g"), member("low", **CPU), member("high", priority=5, **CPU))
    assert nodes_of(world.decide_group("g", made)) == {"high": "n", "low": ""}


def test_anti_affinity_between_members_holds() -> None:
    """kube-scheduler v1.36 ignores it: both members go to the only node."""
    shape = {"labels": {"app": "a"}, "affinity": away(term(HOSTNAME))}
    world = world_of(node("n"))
    # The incoming pod's own term is enough for the filter; only a member without one shows the difference.
    made = put(world, pod_group("g", 2), member("m0", **shape), member("m1", labels={"app": "a"}))
    assert world.decide_group("g", made).result == "unschedulable"
    assert world.decide_group("g", made, stale_affinity=True).result == "scheduled"


def test_one_domain_for_all() -> None:
    racks = [node(f"n{i}", cpu=1, labels={"rack": "small" if i < 2 else "large"}) for i in range(5)]
    world = world_of(*racks, node("no-rack", cpu=100), gates=(TOPOLOGY_AWARE,))
    decision = world.decide_group("g", put(world, pod_group("g", 3, rack="rack"), *members(3)))
    assert sorted(nodes_of(decision).values()) == ["n2", "n3", "n4"]
    assert decision.search is not None
    assert [placement.name for placement in decision.search.placements] == ["large", "small"]


def test_no_domain_fits() -> None:
    world = world_of(
        node("a", cpu=1, labels={"rack": "a"}), node("b", cpu=1, labels={"rack": "b"}), gates=(TOPOLOGY_AWARE,)
    )
    decision = world.decide_group("g", put(world, pod_group("g", 2, rack="rack"), *members(2)))
    text = f"0/2 placements are available, first placement status: {UNSCHEDULABLE_GROUP}"
    assert decision.condition == ("False", "Unschedulable", text)


def test_no_domain_at_all() -> None:
    world = world_of(node("a"), gates=(TOPOLOGY_AWARE,))
    decision = world.decide_group("g", put(world, pod_group("g", 1, rack="rack"), *members(1)))
    assert decision.condition.message == "no feasible placements found"
    assert decision.outcomes[0].status is not None
    assert decision.outcomes[0].status.message == "no feasible placements found"


def test_members_in_two_domains_are_an_error() -> None:
    world = world_of(node("a", labels={"rack": "a"}), node("b", labels={"rack": "b"}), gates=(TOPOLOGY_AWARE,))
    group = pod_group("g", 1, rack="rack")
    *_, new = put(world, group, member("x", on="a"), member("y", on="b"), member("new", **CPU))
    decision = world.decide_group("g", [new])
    assert (decision.result, decision.condition.reason) == ("error", "SchedulerError")
    assert "more than 1 domain found for pod group: a, b" in decision.condition.message


def preemption(**budget: Any) -> tuple[World, list[Pod]]:
    """A full node: pods of priority 1 and 2 by name, a group of priority 10 that needs two of four places."""
    world = world_of(node("n", cpu=4), gates=(WORKLOAD_PREEMPTION,))
    for name, priority in (("a1", 1), ("b1", 1), ("a2", 2), ("b2", 2)):
        world.add_pod(pod(name, "n", priority=priority, labels={"app": name[0]}, **CPU))
    if budget:
        world.put("PodDisruptionBudget", name="budget", namespace="default", **budget)
    return world, put(world, pod_group("g", 2, priority=10), *members(2))


def test_preemption_for_the_group_spares_the_important() -> None:
    world, made = preemption()
    decision = world.decide_group("g", made)
    assert decision.result == "waiting_on_preemption"
    assert sorted(victim.name for victim in decision.victims) == ["a1", "b1"]
    assert all(each.status is not None and not each.nominated for each in decision.outcomes)


def test_preemption_for_the_group_heeds_budgets() -> None:
    spec, status = {"selector": selector(app="a")}, {"disruptionsAllowed": 0}
    world, made = preemption(spec=spec, status=status)
    assert sorted(victim.name for victim in world.decide_group("g", made).victims) == ["b1", "b2"]


def test_a_group_is_evicted_as_one() -> None:
    world = world_of(node("n", cpu=2), node("o", cpu=2), gates=(WORKLOAD_PREEMPTION,))
    old = pod_group("old", 2, priority=1, disruptionMode="PodGroup")
    put(world, old, member("x", "old", "n", requests={"cpu": "2"}), member("y", "old", "o", requests={"cpu": "2"}))
    decision = world.decide_group("g", put(world, pod_group("g", 1, priority=10), *members(1)))
    assert sorted(victim.name for victim in decision.victims) == ["x", "y"]


@pytest.mark.parametrize(
    ("how", "priority", "text"),
    [
        ({"preemptionPolicy": "Never"}, 10, "not eligible due to preemptionPolicy=Never."),
        ({}, 0, "No preemption victims found for incoming preemptor"),
        ({"requests": {"cpu": "9"}}, 10, UNSCHEDULABLE_GROUP),
    ],
)
def test_no_preemption_for_the_group(how: Json, priority: int, text: str) -> None:
    world = world_of(node("n", cpu=1), gates=(WORKLOAD_PREEMPTION,))
    world.add_pod(pod("low", "n", **CPU))
    decision = world.decide_group("g", put(world, pod_group("g", 1, priority=priority), *members(1, **how)))
    assert decision.condition.message == f"{UNSCHEDULABLE_GROUP}, {text}"


class Gatekeeper(Plugin):
    """Permit by the name of the pod."""

    name = "Gatekeeper"

    def permit(self, state: Any, pod: Pod, node_name: str) -> Any:
        if pod.name == "m2":
            raise ValueError("no key")
        return {"m0": reject("closed"), "m1": wait(5, "ringing")}.get(pod.name)


def permitted(count: int, plugin: type[Plugin] = Gatekeeper) -> GroupDecision:
    world = world_of(node("n"), plugins={plugin.name: plugin})
    return world.decide_group("g", put(world, pod_group("g", 2), *members(count)))


def test_permit_plugins_of_other_authors_are_tests() -> None:
    decision = permitted(2)
    assert decision.result == "unschedulable"
    closed, ringing = (each.status for each in decision.outcomes)
    assert closed is not None
    assert closed.message == "0/1 nodes are available: 1 closed."
    assert decision.outcomes[0].rejectors == {"Gatekeeper"}
    assert ringing is not None
    assert ringing.message.startswith(f"{UNSCHEDULABLE_GROUP}, ringing, one or more plugins asked to wait")


def test_a_permit_plugin_that_raises_fails_the_group() -> None:
    decision = permitted(3)
    assert decision.result == "error"
    text = 'failed to schedule other pod from a pod group: running Permit plugin "Gatekeeper": permit raised ValueError'
    assert decision.condition.message.startswith(text)


def test_a_permit_coroutine_fails_the_group() -> None:
    class Patient(Plugin):
        name = "Patient"

        async def permit(self, state: Any, pod: Pod, node_name: str) -> None:
            return None

    assert "is a coroutine, which is not supported" in permitted(2, Patient).condition.message


def test_gates_need_each_other() -> None:
    with pytest.raises(ConfigError) as caught:
        check_dependencies({GANG_SCHEDULING: True})
    text = "GangScheduling is enabled, but depends on features that are disabled: [GenericWorkload]"
    assert str(caught.value) == text
    with pytest.raises(ConfigError, match="WorkloadWithJob is enabled, but depends"):
        parse_gates(["WorkloadWithJob=true"])
