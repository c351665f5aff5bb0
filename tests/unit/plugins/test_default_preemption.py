from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.builders import World, member, node, pod, pod_group, profile_config

from stowplan import api
from stowplan.api import codec
from stowplan.config.args import DefaultPreemptionArgs
from stowplan.config.feature_gates import GANG_SCHEDULING, GENERIC_WORKLOAD, TOPOLOGY_AWARE, WORKLOAD_PREEMPTION
from stowplan.config.releases import LATEST
from stowplan.framework import Action, Code, CycleState, EventResource, PostFilterResult, QueueingHint, Status
from stowplan.plugins.default_preemption import DefaultPreemption

PREEMPTOR = World().pod(pod("p"))


class Searching:
    """A handle that keeps what it is asked, and answers what it is told to."""

    def __init__(self, outcome: PostFilterResult | str) -> None:
        self.outcome = outcome
        self.limit: tuple[int, int] | None = None
        self.cluster = SimpleNamespace(nodes=None)
        self.under_way = False

    def preempt(self, state: Any, pod: Any, statuses: Any, limit: tuple[int, int]) -> PostFilterResult | str:
        self.limit = limit
        return self.outcome

    def is_preempting(self, pod: Any) -> bool:
        return self.under_way


def plugin(handle: Searching, **args: int) -> DefaultPreemption:
    return DefaultPreemption(DefaultPreemptionArgs(**args), cast(Any, handle))


def test_a_nomination_is_passed_on() -> None:
    found = PostFilterResult("n")
    handle = Searching(found)
    made = plugin(handle, min_candidate_nodes_percentage=20, min_candidate_nodes_absolute=7)
    assert made.post_filter(CycleState(), PREEMPTOR, {}) is found
    assert handle.limit == (20, 7)


def test_a_failure_is_told_in_its_name() -> None:
    status = plugin(Searching("no luck.")).post_filter(CycleState(), PREEMPTOR, {})
    assert status == Status(Code.Unschedulable, "preemption: no luck.", plugin="DefaultPreemption")


def test_events() -> None:
    (entry,) = plugin(Searching("")).events_to_register()
    assert (entry.event.resource, entry.event.action) == (EventResource.Pod, Action.Delete)
    assert entry.hint is not None
    assert entry.hint(cast(Any, None), None, None) is QueueingHint.QueueSkip


@pytest.mark.parametrize(
    ("under_way", "reason"), [(False, None), (True, "waiting for the preemption for this pod to be finished")]
)
def test_a_pod_waits_for_the_end_of_its_preemption(under_way: bool, reason: str | None) -> None:
    handle = Searching("")
    handle.under_way = under_way
    status = plugin(handle).pre_enqueue(cast(Any, None))
    assert (None if status is None else status.message) == reason


@pytest.mark.parametrize(("absolute", "candidates"), [(1, 1), (3, 3), (100, 6)])
def test_enough_candidates_are_enough(absolute: int, candidates: int) -> None:
    args = {"DefaultPreemption": {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": absolute}}
    running = [pod(f"r{i}", f"n{i}", requests={"cpu": 4}, priority=-1) for i in range(6)]
    world = World([node(f"n{i}") for i in range(6)], running, config=profile_config(args=args))
    preemption = world.decide(pod("p", requests={"cpu": 1})).preemption
    assert preemption is not None
    assert len(preemption.candidates) == candidates


@pytest.mark.parametrize(
    ("gates", "rack", "why"),
    [
        ((), "rack", None),
        ((TOPOLOGY_AWARE,), "rack", "not eligible due to placement-based pod group scheduling limitation"),
        ((TOPOLOGY_AWARE,), "", None),
        ((WORKLOAD_PREEMPTION,), "", "not eligible due to workload aware preemption enabled"),
    ],
)
def test_members_of_pod_groups(gates: tuple[str, ...], rack: str, why: str | None) -> None:
    """Whether a member may preempt for itself."""
    release = LATEST.with_gates(dict.fromkeys((GENERIC_WORKLOAD, GANG_SCHEDULING, *gates), True))
    world = World([node("n", cpu=1)], [pod("low", "n", requests={"cpu": "1"})], release=release)
    world.cluster.put(codec.convert(api.PodGroup, pod_group(rack=rack)))
    decision = world.decide(member("m", priority=10, requests={"cpu": "1"}))
    if why is None:
        assert decision.nominated_node_name == "n"
    else:
        assert decision.message.endswith(f"preemption: {why}")


def test_a_member_without_its_group() -> None:
    release = LATEST.with_gates({GENERIC_WORKLOAD: True, TOPOLOGY_AWARE: True})
    world = World([node("n", cpu=1)], [pod("low", "n", requests={"cpu": "1"})], release=release)
    decision = world.decide(member("m", priority=10, requests={"cpu": "1"}))
    assert decision.message.endswith("preemption: pod group for pod not found")
