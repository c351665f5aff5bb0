"""A decision made with everything that is remembered is the decision that would be made afresh."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.builders import World, profile_config
from tests.property.out_of_tree_plugins import OUT_OF_TREE_PLUGINS
from tests.property.vocabulary import CONFIGS, NODES, PODS, make_node, make_pod
from tests.property.walk import NAMES, STEPS, Step, Walk

from stowplan.framework import Pod
from stowplan.runtime import Decision

EXAMPLES = int(os.environ.get("STOWPLAN_EXAMPLES", "50"))

node_shapes = st.lists(st.integers(0, len(NODES) - 1), min_size=1, max_size=len(NAMES))
pod_shapes = st.integers(0, len(PODS) - 1)
steps = st.tuples(st.sampled_from(sorted(STEPS)), pod_shapes, st.integers(0, 100))


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Some of the plugins deserve a warning, a thousand times over."""
    log = logging.getLogger("stowplan")
    log.setLevel(logging.CRITICAL)
    yield
    log.setLevel(logging.NOTSET)


def outcome(walk: Walk, decision: Decision) -> tuple[Any, ...]:
    found = decision.preemption
    victims = None if found is None else (found.node_name, [pod.uid for pod in found.victims], len(found.tied))
    return decision.node_name, decision.message, decision.feasible, decision.error, victims


def check(walk: Walk, pod: Pod) -> None:
    """Both ways draw the same lots, since chance decides where the search for victims starts."""
    lots = walk.world.rng.getstate()
    fast = outcome(walk, walk.world.decide(pod))
    walk.world.rng.setstate(lots)
    plain = outcome(walk, walk.world.afresh(pod))
    assert fast == plain, f"pod {pod.name}"


quick = settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])
asked_shapes = st.lists(pod_shapes, min_size=1, max_size=3, unique=True)
walks = st.lists(steps, min_size=1, max_size=60)


def compare(walk: Walk, asked: list[int], walked: Iterable[Step]) -> None:
    """Ask about pods twice before the walk, so that there is something to remember, and after some steps of it.

    Whom a step is followed by is left to chance too: several changes at once are another matter than one by one.
    """
    pods = walk.wait(asked)
    for pod in (*pods, *pods):
        check(walk, pod)
    for step in walked:
        walk.take(step)
        for i, pod in enumerate(pods):
            if step[2] >> i & 1:
                check(walk, pod)
    for pod in pods:
        check(walk, pod)


@quick
@given(node_shapes, asked_shapes, walks, st.integers(0, len(CONFIGS) - 1))
def test_decisions_on_a_walk(nodes: list[int], asked: list[int], walked: list[Step], config: int) -> None:
    compare(Walk(nodes, config), asked, walked)


@quick
@given(node_shapes, asked_shapes, walks, st.sets(st.sampled_from(sorted(OUT_OF_TREE_PLUGINS)), min_size=1))
def test_decisions_with_plugins_of_users(
    nodes: list[int], asked: list[int], walked: list[Step], plugins_used: set[str]
) -> None:
    compare(Walk(nodes, plugins={name: OUT_OF_TREE_PLUGINS[name] for name in sorted(plugins_used)}), asked, walked)


@pytest.mark.parametrize("seed", range(4))
def test_decisions_on_a_long_walk(seed: int) -> None:
    random = Random(seed)
    walk = Walk([random.randrange(len(NODES)) for _ in range(random.choice((5, 12, 24)))], seed % len(CONFIGS))
    walked = ((random.choice(sorted(STEPS)), random.randrange(len(PODS)), random.randrange(100)) for _ in range(150))
    compare(walk, random.sample(range(len(PODS)), 4), walked)


def test_decisions_while_the_table_grows() -> None:
    """From a few nodes to more than the columns were made for, and back."""
    random = Random(7)
    walk = Walk([0, 1, 2])
    pods = walk.wait([0, 9, 11, 13, 17, 23])
    for count in (*range(60, 140, 13), *range(140, 1, -23)):
        for i in range(count):
            if f"g{i}" not in walk.cluster.nodes.slot_of:
                walk.world.put_node(make_node(f"g{i}", random.randrange(len(NODES))))
        for i in range(count, 140):
            walk.cluster.remove_node(f"g{i}")
        walk.place(random.randrange(len(PODS)), 20)
        for pod in pods:
            check(walk, pod)


@pytest.mark.parametrize("seed", range(3))
def test_decisions_about_a_part_of_the_cluster(seed: int) -> None:
    """Where percentageOfNodesToScore limits the search, both ways find the same nodes first."""
    random = Random(seed)
    config = {**profile_config(), "percentageOfNodesToScore": 10}
    world = World([make_node(f"n{i:03}", random.randrange(len(NODES))) for i in range(220)], config=config)
    shapes = [random.randrange(len(PODS)) for _ in range(5)]
    for i in range(120):
        pod = world.pod(make_pod(f"p{i}", random.choice(shapes)))
        plain, fast = world.afresh(pod), world.decide(pod)
        assert (fast.node_name, fast.feasible) == (plain.node_name, plain.feasible)
        if fast.node_name:
            world.cluster.assume(pod, fast.node_name)
        if random.random() < 0.1:
            world.put_node(make_node(f"n{random.randrange(220):03}", random.randrange(len(NODES))))
