"""Preemption for pod groups in the engine."""

from __future__ import annotations

import pytest
from tests.builders import member, node, pod
from tests.unit.engine.grouped import CPU, bound, condition, group, host, low, members

from stowplan import api
from stowplan.config.feature_gates import GANG_SCHEDULING, WORKLOAD_PREEMPTION
from stowplan.framework import EmitEvent, Evict


@pytest.mark.parametrize("gates", [(GANG_SCHEDULING,), (GANG_SCHEDULING, WORKLOAD_PREEMPTION)])
def test_preemption_end_to_end(gates: tuple[str, ...]) -> None:
    made = host(node("n", cpu=4), *low(4), gates=gates, grace=30.0)
    made.put(group(min_count=3, priority=10), *members(3, priority=10))
    made.schedule()
    evicted = {each.pod.name for each in made.done if isinstance(each, Evict)}
    assert len(evicted) == 3
    text = "pod group is unschedulable"
    if WORKLOAD_PREEMPTION not in gates:
        text += ", pod group is waiting for preemption to complete"
    assert condition(made) == ("False", "Unschedulable", text)
    nominated = [made.world.get(api.Pod, f"g-{i}", "default") for i in range(3)]
    assert [each.status.nominated_node_name for each in nominated if each is not None] == ["n"] * 3
    made.put(pod("intruder", **CPU))
    made.advance(40)
    assert {name for name in bound(made) if name.startswith("g")} == {"g-0", "g-1", "g-2"}
    assert "intruder" not in bound(made)
    assert condition(made) == ("True", "Scheduled", "")
    note = next(each.note for each in made.done if isinstance(each, EmitEvent) and each.reason == "Preempted")
    assert note.startswith("Preempted by podgroup group g on node cluster" if len(gates) > 1 else "Preempted by pod ")


def test_nothing_is_evicted_for_a_group_that_does_not_fit() -> None:
    made = host(node("n", cpu=4), *low(4))
    made.put(group(min_count=5), *members(5, priority=10))
    made.schedule()
    assert not [each for each in made.done if isinstance(each, Evict)]
    assert condition(made) == ("False", "Unschedulable", "pod group is unschedulable")


def test_a_group_does_not_evict_its_own_members() -> None:
    gates = (GANG_SCHEDULING, WORKLOAD_PREEMPTION)
    made = host(node("n", cpu=2), group(min_count=1, priority=10), gates=gates)
    made.put(*members(2))
    made.schedule()
    made.put(member("g-new", **CPU))
    made.schedule()
    assert not [each for each in made.done if isinstance(each, Evict)]


def test_members_that_are_left_over_preempt_as_a_group_of_their_own() -> None:
    gates = (GANG_SCHEDULING, WORKLOAD_PREEMPTION)
    made = host(node("n", cpu=1), node("full", cpu=1), pod("low", "full", priority=1, **CPU), gates=gates)
    made.put(group(priority=10), *members(3, priority=10))
    made.schedule()
    assert bound(made) == {"g-0": "n", "g-1": "full"}
