"""An engine keeps its promises whatever happens, and whenever: random walks, each of which ends with a cluster at rest.

The invariants are checked after every call of the engine. A cluster at rest has every pod bound once, or waiting for
something that has not happened.

A walk is plain data, so two sorts of drivers share it. Hypothesis shortens best what it finds, but spends most of its
time on choosing steps; so it walks a little, and a seeded generator, whose choices cost nothing, walks 200 times as
much:

    STOWPLAN_EXAMPLES=50      the number of walks by Hypothesis, and of 200 walks each by chance
    STOWPLAN_STEPS=1000000    pytest tests/property/test_engine_machine.py -k long: so many steps in long walks
"""

from __future__ import annotations

import os
import random
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.property.engine_vocabulary import OBJECTS, PODS, SMALL
from tests.property.engine_walk import STEPS, EngineWalk, Step
from tests.property.failing_walks import problem, shortened

EXAMPLES = int(os.environ.get("STOWPLAN_EXAMPLES", "50"))
WALKS = 200 * EXAMPLES
PARTS = 20
LONG_STEPS = int(os.environ.get("STOWPLAN_STEPS", "3000"))

NAMES = tuple(STEPS)
WEIGHTS = tuple(weight for weight, _ in STEPS.values())
NUMBERS = 1 << 16

steps = st.tuples(st.sampled_from(NAMES), st.integers(0, NUMBERS - 1), st.integers(0, NUMBERS - 1))


def by_chance(rng: random.Random, length: int) -> list[Step]:
    """A small cluster that holds a few unimportant pods, and then anything."""
    number = rng.randrange
    walk: list[Step] = [("put node", i, number(NUMBERS)) for i in range(2 + number(3))]
    walk += [("toggle object", i, 1) for i in range(len(OBJECTS)) if rng.random() < 0.6]
    walk += [("add pod", rng.choice(SMALL), 8 * i) for i in range(number(6))]
    walk += [("tell", 0, 3)] * 4
    walk += [("add pod", number(NUMBERS), 1) for _ in range(number(4))]
    walk.append(("settle", 0, 0))
    walk += [(name, number(NUMBERS), number(NUMBERS)) for name in rng.choices(NAMES, WEIGHTS, k=length)]
    return walk


def judge(name: str, number: int, length: int) -> None:
    """Walk by chance; every other time pods that are deleted take their time to end."""
    walked = by_chance(random.Random(f"{name} {number}"), length)
    grace = 3.0 * (number % 2)
    make = partial(EngineWalk, grace)
    if problem(walked, make):
        short = shortened(walked, make)
        told = "\n".join(map(repr, short))
        pytest.fail(f"{name} {number}, grace {grace}:\n{told}\n{problem(short, make)}", pytrace=False)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(PARTS))
def test_walks_by_chance(part: int) -> None:
    for number in range(part, WALKS, PARTS):
        judge("walk", number, 20)


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_long_walks() -> None:
    """The engine grows old: queues were full and empty again, names come back, plans have seen many clusters."""
    for number in range(-(-LONG_STEPS // 500)):
        judge("long walk", number, 500)


@pytest.mark.timeout(600)
@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(steps, max_size=60), st.sampled_from([0.0, 3.0]))
def test_walks_by_hypothesis(walked: list[Step], grace: float) -> None:
    assert problem([*START, *walked], partial(EngineWalk, grace)) == ""


START: list[Step] = [("put node", 0, 0), ("put node", 1, 1), ("tell", 0, 3)]


def test_every_step_and_every_pod_is_met() -> None:
    """Nothing in the vocabulary is there in vain."""
    taken = [step for number in range(200) for step in by_chance(random.Random(number), 20)]
    assert {name for name, _, _ in taken} == set(NAMES)
    assert {shape % len(PODS) for name, shape, _ in taken if name == "add pod"} == set(range(len(PODS)))
