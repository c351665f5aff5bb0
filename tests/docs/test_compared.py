"""The comparison of answers: recorded messages, cluster-capacity's algorithm, explanations."""

from __future__ import annotations

import msgspec
import pytest
from tests.builders import node, pod
from tests.docs.reference.compared import SITUATIONS, answers, find, instances

from stowplan.evaluation.case import read_case


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_situation(name: str) -> None:
    """kube-scheduler's message is ours, word for word, and the explanation says more than it."""
    found = answers(find(name))
    assert found.instances == 0
    assert found.refused == found.describe
    assert found.explanation.message.startswith(found.describe)
    assert found.explanation.because is not None
    assert found.explanation.sentence
    assert found.explanation.sentence not in found.describe


def test_there_are_twelve() -> None:
    assert len(SITUATIONS) == 12


def test_instances() -> None:
    """Two nodes of 4 CPU, 3 of them taken on one: 5 more instances of 1 CPU fit."""
    busy = pod("busy", "a", requests={"cpu": "3"})
    case = {"pod": pod("web", requests={"cpu": "1"}), "nodes": [node("a", cpu=4), node("b", cpu=4)], "pods": [busy]}
    number, refused = instances(read_case(msgspec.json.encode(case)))
    assert number == 5
    assert refused.startswith("0/2 nodes are available: 2 Insufficient cpu.")
