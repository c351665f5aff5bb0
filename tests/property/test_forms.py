"""The vector form of every in-tree plugin says of each node what the scalar form says."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.builders import World
from tests.conformance.recorded import CATEGORIES, recorded
from tests.property.vocabulary import CONFIGS, NODES, PODS
from tests.property.walk import NAMES, STEPS, Step, Walk

from stowplan.framework import Code, CycleState, Nodes, Plugin, Pod, Status, implements
from stowplan.framework.status import merge_rejections
from stowplan.runtime import Profile

EXAMPLES = int(os.environ.get("STOWPLAN_EXAMPLES", "50"))

pod_shapes = st.integers(0, len(PODS) - 1)
steps = st.tuples(st.sampled_from(sorted(STEPS)), pod_shapes, st.integers(0, 100))


def subsets(profile: Profile, random: Random) -> Iterator[Nodes]:
    """The whole cluster, some of it as a list of slots, and some of it as a slice with holes."""
    table = profile.cluster.nodes
    yield table.everything()
    slots = sorted(table.slot_of.values())
    some = np.array(sorted(random.sample(slots, random.randint(0, len(slots)))), dtype=np.intp)
    yield table.subset(some)
    holes = np.setdiff1d(np.arange(table.high), some)
    yield Nodes(slice(0, table.high), table.high, table.infos, holes if len(holes) else None)


def check_filter(plugin: Plugin, state: CycleState, pod: Pod, nodes: Nodes) -> None:
    rejected: dict[int, list[Status]] = {}
    for mask, status in plugin.filter_nodes(state, pod, nodes):
        assert mask.shape == (len(nodes),)
        for position in np.flatnonzero(mask).tolist():
            rejected.setdefault(position, []).append(status)
    passing = plugin.passing_nodes(state, pod, nodes)
    by_slot = plugin.slot_filter(pod.template)
    for position, info in nodes.infos():
        expected = plugin.filter(state, pod, info)
        answer = merge_rejections(rejected[position]) if position in rejected else None
        assert answer == expected, (plugin.name, pod.name, info.name)
        assert bool(passing[position]) == (expected is None), (plugin.name, pod.name, info.name)
        if by_slot is not None:
            assert by_slot(info.slot) == expected, (plugin.name, pod.name, info.name)


def check_score(plugin: Plugin, pod: Pod, nodes: Nodes) -> None:
    state = CycleState()
    if implements(type(plugin), "pre_score"):
        status = plugin.pre_score(state, pod, nodes)
        if status is not None and status.code:
            assert status.code in (Code.Skip, Code.Error)
            return
    raw = plugin.score_nodes(state, pod, nodes)
    assert raw.dtype == np.int64
    by_slot = plugin.slot_scorer(pod.template)
    scalar = {}
    for position, info in nodes.infos():
        expected = plugin.score(state, pod, info)
        scalar[info.name] = expected
        assert raw[position] == expected, (plugin.name, pod.name, info.name)
        if by_slot is not None:
            assert by_slot(info.slot) == expected, (plugin.name, pod.name, info.name)
    if implements(type(plugin), "normalize_nodes") and scalar:
        final = plugin.normalize_nodes(state, pod, raw.copy(), nodes)
        plugin.normalize_score(state, pod, scalar)  # type: ignore[arg-type]
        assert {info.name: final[position] for position, info in nodes.infos()} == scalar, plugin.name


def check_filters(profile: Profile, pods: Iterable[Pod], random: Random) -> None:
    for pod in pods:
        for plugin in profile.filters:
            state = CycleState()
            answer = None
            if plugin in profile.pre_filters:
                answer = plugin.pre_filter(state, pod, profile.cluster.nodes.everything())
            if not isinstance(answer, Status):
                for nodes in subsets(profile, random):
                    check_filter(plugin, state, pod, nodes)


def check_scores(profile: Profile, pods: Iterable[Pod], random: Random) -> None:
    for pod in pods:
        for plugin, _ in profile.scorers:
            for nodes in subsets(profile, random):
                if nodes.meant:
                    check_score(plugin, pod, nodes)


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.integers(0, len(NODES) - 1), min_size=1, max_size=len(NAMES)),
    st.lists(steps, max_size=30),
    st.lists(pod_shapes, min_size=1, max_size=4, unique=True),
    st.integers(0, len(CONFIGS) - 1),
    st.randoms(use_true_random=False),
)
def test_random_clusters(nodes: list[int], walked: list[Step], asked: list[int], config: int, random: Random) -> None:
    walk = Walk(nodes, config)
    for step in walked:
        walk.take(step)
    pods = walk.wait(asked)
    check_filters(walk.world.profile, pods, random)
    check_scores(walk.world.profile, pods, random)
    infos = list(walk.cluster.nodes)
    with walk.cluster.what_if() as journal:
        for shape in asked if infos else ():
            info = random.choice(infos)
            for resident in list(info.pods.values())[:2]:
                journal.remove(resident, info)
            journal.add(walk.pod(shape), random.choice(infos))
        check_filters(walk.world.profile, pods, random)


@pytest.mark.parametrize("category", CATEGORIES)
def test_recorded_clusters(category: str) -> None:
    every = 15 if category == "large" else 4
    for number, row in enumerate(recorded(category)[::every]):
        case = row.read()
        world, pod = World.of_case(case)
        profile = world.profiles[case.pod.spec.scheduler_name]
        check_filters(profile, [pod], Random(number))
        check_scores(profile, [pod], Random(number))
