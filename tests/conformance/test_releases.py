"""Recorded verdicts of earlier releases of kube-scheduler, compared with the evaluator and with the fast path."""

from __future__ import annotations

import pytest
from tests.conformance.recorded import categories_of, check_rows, differences, recorded
from tests.conformance.test_recorded_verdicts import wrong_decisions

from stowplan.config.releases import LATEST, RELEASES
from stowplan.evaluation import Evaluator

pytestmark = [pytest.mark.conformance, pytest.mark.usefixtures("without_cycle_collector")]

EARLIER = [version for version in RELEASES if version != LATEST.version]
RECORDED = [(version, category) for version in EARLIER for category in categories_of(version)]
SAMPLED = {"large": 4}
"""Of these categories every fourth case is compared: loading them takes far longer than deciding."""
DECIDED_EVERY = 4
"""The fast path decides every fourth case; rules of releases that it depends on are in most of them."""


def test_every_earlier_release_is_recorded() -> None:
    rows = {version: sum(each == version for each, _ in RECORDED) for version in EARLIER}
    assert rows == {"1.33": 19, "1.34": 20, "1.35": 20}


@pytest.mark.parametrize(("version", "category"), RECORDED)
def test_verdicts_are_those_of_the_release(version: str, category: str) -> None:
    evaluator = Evaluator()
    rows = recorded(category, version)[:: SAMPLED.get(category, 1)]
    check_rows(rows, lambda row: differences(row.expect, evaluator.line(row.line)))


@pytest.mark.parametrize(("version", "category"), [pair for pair in RECORDED if pair[1] not in SAMPLED])
def test_fast_path_chooses_a_best_node_of_the_release(version: str, category: str) -> None:
    rows = [row for row in recorded(category, version)[::DECIDED_EVERY] if "preEnqueue" not in row.expect]
    check_rows(rows, wrong_decisions)
