"""An engine with pod groups keeps its promises whatever happens: no gang is bound in part, and none is forgotten.

STOWPLAN_EXAMPLES=50      the number of walks, times 200: one in twelve is long, with all invariants after every call
"""

from __future__ import annotations

import os
import random
from typing import NamedTuple

import pytest
from tests.property.engine_walk import Step
from tests.property.failing_walks import problem, shortened
from tests.property.group_walk import GATES, GROUP_STEPS, GroupWalk

WALKS = 200 * int(os.environ.get("STOWPLAN_EXAMPLES", "50"))
PARTS = 20
NAMES = tuple(GROUP_STEPS)
WEIGHTS = tuple(weight for weight, _ in GROUP_STEPS.values())
NUMBERS = 1 << 16


class WalkSettings(NamedTuple):
    """How a walk is made."""

    grace: float
    gates: tuple[str, ...]
    in_tree: bool
    check_every: int

    def walk(self) -> GroupWalk:
        return GroupWalk(self.grace, self.gates, in_tree=self.in_tree, check_every=self.check_every)


def by_chance(rng: random.Random, length: int) -> list[Step]:
    number = rng.randrange
    walk: list[Step] = [("put node", i, number(NUMBERS)) for i in range(2 + number(3))]
    walk += [("add gang", number(NUMBERS), number(NUMBERS)) for _ in range(number(3))]
    walk.append(("settle", 0, 0))
    walk += [(name, number(NUMBERS), number(NUMBERS)) for name in rng.choices(NAMES, WEIGHTS, k=length)]
    return walk


def judge(number: int) -> None:
    long = number // PARTS % 12 == 0
    walked = by_chance(random.Random(f"group walk {number}"), 24 if long else 10)
    settings = WalkSettings(3.0 * (number % 2), GATES[number // 2 % len(GATES)], number // 8 % 2 == 1, 1 if long else 8)
    if problem(walked, settings.walk):
        settings = settings._replace(check_every=1)
        short = shortened(walked, settings.walk)
        steps = "\n".join(map(repr, short))
        pytest.fail(f"{number}, {settings}:\n{steps}\n{problem(short, settings.walk)}", pytrace=False)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(PARTS))
def test_walks_with_groups(part: int) -> None:
    for number in range(part, WALKS, PARTS):
        judge(number)
