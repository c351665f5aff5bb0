"""Whole answers as text, at 80 and 120 columns and with lines of any length.

`python -m tests.unit.simulator.what_if.test_golden` writes the texts anew. The sentences of explanations have tests of
their own and are replaced by one sentence here.
"""

from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.builders import Json
from tests.unit.simulator.what_if.asking import ask, budget, node, pod, spread, workload

from stowplan.simulator.what_if.node_changes import AddNodes, DrainNodes
from stowplan.simulator.what_if.profile_changes import SetWeight
from stowplan.simulator.what_if.records import WhatIfAnswer, Why
from stowplan.simulator.what_if.text import what_if_lines
from stowplan.simulator.what_if.workload_changes import PlaceAgain, SetRequests

GOLDEN = Path(__file__).parent / "golden"
WIDTHS = {"80": 80, "120": 120, "none": None}
WHY = Why("resources.insufficient", "Needs 9 CPU on one node, and the best of 8 nodes, those of zone a, has 7.")


def cluster() -> Iterator[Json]:
    for number in range(12):
        zone = f"eu-1{'abc'[number % 3]}"
        pool, gpu = ("general", 0) if number < 9 else ("gpu", 4)
        yield node(f"{zone}-{pool}-{number:02}", zone=zone, cpu="16", gpu=gpu, pool=pool)
    yield workload("web", 30, cpu="2", **spread("web"))
    yield workload("checkout", 14, cpu="9", **spread("checkout"))
    yield workload("train", 4, cpu="2", gpu=3)
    yield workload("agent", 0, cpu="500m", kind="DaemonSet")
    yield budget("web", 29)
    yield budget("checkout", 12)
    yield pod("bare", cpu="100m", nodeName="eu-1c-general-02")


QUESTIONS = {
    "add": ((AddNodes(add=2, like="eu-1a-general-00"),), {"enough": ("eu-1a-gpu-09",)}),
    "drain": ((DrainNodes("zone=eu-1c"),), {"by": "pool"}),
    "set": ((SetRequests("Deployment/checkout", {"cpu": "5"}),), {}),
    "weight": ((SetWeight("NodeResourcesFit", 5), PlaceAgain("shop")), {}),
    "fit": ((), {"fit": "Deployment/web"}),
}


def answer_to(name: str) -> WhatIfAnswer:
    changes, question = QUESTIONS[name]
    room = "stowplan.simulator.what_if"
    with (
        patch(f"{room}.answer.why", return_value=WHY),
        patch(f"{room}.enough.why", return_value=WHY),
        patch(f"{room}.fit.why_of", return_value=WHY),
    ):
        return ask(tuple(cluster()), *changes, **question)


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_text_of(name: str) -> None:
    answer = answer_to(name)
    for label, width in WIDTHS.items():
        text = "\n".join(what_if_lines(answer, width)) + "\n"
        assert text == (GOLDEN / f"{name}-{label}.txt").read_text(), label


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.txt")), ids=lambda path: path.stem)
def test_lines_keep_to_the_width(path: Path) -> None:
    width = WIDTHS[path.stem.rpartition("-")[2]]
    assert all(line == line.rstrip() for line in path.read_text().splitlines())
    assert width is None or max(map(len, path.read_text().splitlines())) <= width


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for each in QUESTIONS:
        for label, columns in WIDTHS.items():
            (GOLDEN / f"{each}-{label}.txt").write_text("\n".join(what_if_lines(answer_to(each), columns)) + "\n")
