"""Pod groups where the outcome is kube-scheduler's, although another one may be expected."""

from __future__ import annotations

import re
from pathlib import Path

from tests.builders import Json, member, node, pod
from tests.unit.engine.grouped import CPU, bound, condition, group, host, low, members, message

from stowplan import api
from stowplan.config.feature_gates import (
    GANG_SCHEDULING,
    GROUP_DIFFERENCES,
    TOPOLOGY_AWARE,
    WORKLOAD_PREEMPTION,
    group_difference,
)
from stowplan.config.releases import LATEST
from stowplan.framework import EmitEvent, Evict, PatchStatus

GUIDE = Path(__file__).parents[3] / "docs/guides/groups.md"


def started(name: str, second: int, group_name: str = "") -> Json:
    status = {"startTime": f"2026-01-01T00:00:0{second}Z"}
    if group_name:
        return member(name, group_name, "n", priority=1, status=status, **CPU)
    return pod(name, "n", priority=1, status=status, **CPU)


def test_a_surplus_member_that_preempts_holds_back_the_gang() -> None:
    """Two of three members fit, and two are enough; the third preempts, so all of them wait for it."""
    made = host(node("n", cpu=3), *low(1), grace=30.0)
    made.put(group(min_count=2), *members(3, priority=10))
    made.schedule()
    assert bound(made) == {"low-0": "n"}
    text = "pod group is unschedulable, pod group is waiting for preemption to complete"
    assert condition(made) == ("False", "Unschedulable", text)
    made.advance(40)
    assert sorted(bound(made)) == ["g-0", "g-1", "g-2"]


def test_a_pod_without_a_group_evicts_single_members() -> None:
    """The disruption mode of their group protects members from groups only."""
    made = host(
        node("n", cpu=2), group("whole", disruptionMode="PodGroup"), gates=(GANG_SCHEDULING, WORKLOAD_PREEMPTION)
    )
    made.put(started("whole-0", 1, "whole"), started("whole-1", 2, "whole"), pod("plain", priority=10, **CPU))
    made.schedule()
    assert [each.pod.name for each in made.done if isinstance(each, Evict)] == ["whole-1"]
    assert bound(made)["plain"] == "n"


def test_members_of_a_group_are_more_important_than_pods_that_started_earlier() -> None:
    """Also those of a group whose pods are evicted one by one."""
    made = host(node("n", cpu=2), group("loose"), gates=(GANG_SCHEDULING, WORKLOAD_PREEMPTION))
    made.put(started("early", 1), started("loose-0", 2, "loose"))
    made.put(group(min_count=1, priority=10), *members(1, priority=10))
    made.schedule()
    assert [each.pod.name for each in made.done if isinstance(each, Evict)] == ["early"]


def test_the_first_members_choose_the_domain() -> None:
    """A member that comes later does not get the room of another rack, in which all of them would fit."""
    made = host(
        node("a", cpu=2, labels={"rack": "r1"}),
        node("b", cpu=3, labels={"rack": "r2"}),
        gates=(GANG_SCHEDULING, TOPOLOGY_AWARE),
    )
    made.put(group(min_count=1, rack="rack"), *members(1))
    made.schedule()
    assert bound(made) == {"g-0": "a"}  # The fuller rack.
    made.put(*members(3)[1:])
    made.schedule()
    assert bound(made) == {"g-0": "a", "g-1": "a"}
    assert message(made, "g-2").startswith("0/1 nodes are available: 1 Insufficient cpu.")


def test_the_pods_before_the_podgroup_choose_a_domain_for_all() -> None:
    made = host(
        node("a", cpu=2, labels={"rack": "r1"}),
        node("b", cpu=3, labels={"rack": "r2"}),
        gates=(GANG_SCHEDULING, TOPOLOGY_AWARE),
    )
    made.put(*members(3), group(min_count=1, rack="rack"))
    made.schedule()
    assert set(bound(made).values()) == {"b"}


def test_members_of_a_basic_group_wait_for_it_in_silence() -> None:
    made = host(node("n", cpu=4), *members(2))
    made.schedule()
    assert bound(made) == {}
    assert not [each for each in made.done if isinstance(each, (EmitEvent, PatchStatus))]
    made.put(group())
    made.schedule()
    assert sorted(bound(made)) == ["g-0", "g-1"]


def test_the_order_of_members_may_lose_a_gang() -> None:
    """The first member goes to the emptier node, which the second one needs."""
    made = host(node("large", cpu=2), node("small", cpu=1), group(min_count=2))
    made.put(member("g-0", requests={"cpu": "1"}), member("g-1", requests={"cpu": "2"}))
    made.schedule()
    assert bound(made) == {}
    assert message(made, "g-1").startswith("0/2 nodes are available: 2 Insufficient cpu.")


def test_the_condition_stays_true() -> None:
    """Members that come later and do not fit have their own message."""
    made = host(node("n", cpu=2), group(min_count=2), *members(2))
    made.schedule()
    made.put(*members(3)[2:])
    made.schedule()
    assert condition(made) == ("True", "Scheduled", "")
    assert message(made, "g-2").startswith("0/1 nodes are available: 1 Insufficient cpu.")
    found = made.world.get(api.PodGroup, "g", "default")
    assert found is not None
    assert [each.observed_generation for each in found.status.conditions] in ([None], [0])


def test_the_guide_lists_every_difference_with_its_switch() -> None:
    table = GUIDE.read_text().partition("| kube-scheduler v1.36 | Stowplan | switch |")[2].partition("\n\n")[0]
    rows = [line.split("|")[1:-1] for line in table.splitlines()[2:]]
    assert all(len(row) == 3 and row[0].strip() and row[1].strip() for row in rows)
    switches = [name for row in rows for name in re.findall(r"`([a-z-]+)`", row[2])]
    assert sorted(switches) == sorted(GROUP_DIFFERENCES)
    for name in GROUP_DIFFERENCES:
        assert not LATEST.has(group_difference(name))
        assert LATEST.with_gates({group_difference(name): True}).has(group_difference(name))
