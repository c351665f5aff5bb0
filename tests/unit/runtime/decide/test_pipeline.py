"""The stages of a decision, in the order of kube-scheduler's schedulePod."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.builders import World, node, pod
from tests.extenders import FakeExtender

from stowplan.framework import CycleState, Pod
from stowplan.framework.extender import Filtered
from stowplan.runtime.decide.diagnosis import Diagnosis
from stowplan.runtime.decide.filtering import NO_OBJECTION, PreFiltered, run_pre_filters
from stowplan.runtime.decide.pipeline import run_to_end, schedule_pod, schedule_pod_with_extenders
from stowplan.runtime.decide.sampling import Rotation, Sampler
from stowplan.runtime.decide.sources import Afresh
from stowplan.runtime.decide.ties import Ranks
from stowplan.runtime.points.cycle_error import CycleError


class Recorded:
    """A source with ready answers, which records the stages that the pipeline comes to."""

    diagnosis: Diagnosis | None = None

    def __init__(self, world: World, *feasible: int) -> None:
        self.world = world
        self.stages: list[str] = []
        self.feasible = list(feasible)

    def run_pre_filters(self, state: CycleState, pod: Pod) -> PreFiltered:
        self.stages.append("pre_filter")
        profile = self.world.profile
        return run_pre_filters(profile.pre_filters, state, pod, profile.cluster.nodes.everything())

    def run_filters(self, state: CycleState, pod: Pod, pre_filtered: PreFiltered) -> int:
        assert pre_filtered is NO_OBJECTION
        self.stages.append("filter")
        return len(self.feasible)

    def run_filters_with_nominated_pods(self, state: CycleState, pod: Pod) -> int:
        self.stages.append("nominated")
        self.feasible.pop()
        return len(self.feasible)

    def afresh(self, state: CycleState, pod: Pod, pre_filtered: PreFiltered) -> Afresh:
        self.stages.append("afresh")
        return Afresh(Diagnosis(self.world.profile, pod).resume(state, pre_filtered, {}))

    def sample(self, sampler: Sampler) -> tuple[int, int]:
        self.stages.append("sample")
        self.feasible = self.feasible[:2]
        return len(self.feasible), 7

    def only_slot(self) -> int:
        self.stages.append("only")
        return self.feasible[0]

    def prioritize(self, state: CycleState, pod: Pod) -> Ranks:
        self.stages.append("score")
        return np.array(self.feasible)

    def select_host(self, ranks: Ranks) -> int:
        self.stages.append("select")
        return int(ranks.max())


@pytest.fixture
def world() -> World:
    return World([node(name) for name in "abc"])


def decide(world: World, source: Any, **fields: Any) -> Any:
    return schedule_pod(world.profile, world.pod(pod("p", **fields)), source)


def test_stages_of_a_pod_that_fits(world: World) -> None:
    source = Recorded(world, 0, 1, 2)
    decision = decide(world, source)
    assert source.stages == ["pre_filter", "filter", "score", "select"]
    assert (decision.node_name, decision.feasible, decision.evaluated) == ("c", 3, 3)
    assert decision.diagnosis is None


def test_a_node_that_is_alone_needs_no_scores(world: World) -> None:
    source = Recorded(world, 1)
    assert decide(world, source).node_name == "b"
    assert source.stages == ["pre_filter", "filter", "only"]


def test_nominated_pods_are_counted_where_there_are_some(world: World) -> None:
    world.nominate(pod("rival", nominated="a"))
    source = Recorded(world, 0, 1, 2)
    assert decide(world, source).node_name == "b"
    assert source.stages == ["pre_filter", "filter", "nominated", "score", "select"]
    nowhere = Recorded(world)
    decide(world, nowhere)
    assert nowhere.stages == ["pre_filter", "filter", "afresh"]


def test_sampling_comes_before_scores(world: World) -> None:
    world.profile.sampler = Sampler(50, Rotation(world.cluster.nodes))
    source = Recorded(world, 0, 1, 2)
    decision = decide(world, source)
    assert source.stages == ["pre_filter", "filter", "sample", "score", "select"]
    assert (decision.node_name, decision.feasible, decision.evaluated) == ("b", 2, 7)
    alone = Recorded(world, 2)
    assert decide(world, alone).evaluated == 3
    assert alone.stages == ["pre_filter", "filter", "only"]


def test_answers_are_made_afresh_where_no_node_is_left(world: World) -> None:
    """Kept answers have no reasons, and may miss nodes that PreFilter allows."""
    source = Recorded(world)
    decision = decide(world, source)
    assert source.stages == ["pre_filter", "filter", "afresh"]
    assert decision.node_name in {"a", "b", "c"}
    assert decision.diagnosis is not None
    hopeless = decide(world, Recorded(world), requests={"cpu": 9})
    assert hopeless.node_name == ""
    assert hopeless.message.startswith("0/3 nodes are available: 3 Insufficient cpu. ")


def test_without_nodes_the_cycle_ends() -> None:
    empty = World()
    source = Recorded(empty, 0)
    with pytest.raises(CycleError, match="no nodes available to schedule pods"):
        decide(empty, source)
    assert source.stages == []


def test_extenders_are_called_after_filters_and_after_scores(world: World) -> None:
    def drop(pod: str, nodes: list[str]) -> Filtered:
        return Filtered([name for name in nodes if name != "c"], {"c": "busy"})

    extender = FakeExtender(filter=drop, prioritize=lambda pod, nodes: {"b": 10})
    world.profile.extenders = (extender,)
    made = world.pod(pod("p"))
    steps = schedule_pod_with_extenders(world.profile, made, Diagnosis(world.profile, made))
    call = steps.send(None)
    assert (call.verb, [info.name for info in call.argument]) == ("filter", ["a", "b", "c"])
    together = steps.send(extender.answer(call))
    with pytest.raises(StopIteration) as end:
        steps.send([{"b": 10.0} for _ in together.coroutines])
    for each in together.coroutines:
        each.close()
    assert end.value.value.node_name == "b"
    assert end.value.value.feasible == 2


def test_a_decision_that_suspends_without_extenders_is_a_bug(world: World) -> None:
    world.profile.extenders = (FakeExtender(filter=lambda pod, nodes: Filtered(nodes, {})),)
    made = world.pod(pod("p"))
    steps = schedule_pod_with_extenders(world.profile, made, Diagnosis(world.profile, made))
    with pytest.raises(RuntimeError, match="suspended"):
        run_to_end(steps)
