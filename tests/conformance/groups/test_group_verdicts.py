"""Every recorded verdict of kube-scheduler on pod groups, asked of the evaluator and of the scheduler's own path."""

from __future__ import annotations

import pytest
from tests.conformance.groups.recorded_groups import CATEGORIES, RecordedGroup, differences, recorded_groups
from tests.conformance.recorded import check_rows

from stowplan.evaluation import Evaluator
from stowplan.evaluation.case import GroupCase, read_any_case

pytestmark = [pytest.mark.conformance, pytest.mark.usefixtures("without_cycle_collector")]


@pytest.mark.parametrize("category", CATEGORIES)
def test_verdicts_are_those_of_kube_scheduler(category: str) -> None:
    evaluator = Evaluator()
    rows = recorded_groups(category)
    assert len(rows) == 60
    check_rows(rows, lambda row: differences(row.expect, evaluator.line(bytes(row.case))))


@pytest.mark.parametrize("category", CATEGORIES)
def test_fixed_decisions_with_kept_answers_end_alike(category: str) -> None:
    """Every other case, without the mistakes of v1.36 and with the answers that a scheduler keeps."""
    evaluator = Evaluator(group_fixes=True)
    rows = [row for row in recorded_groups(category)[::2] if not row.traps]

    def found(row: RecordedGroup) -> list[str]:
        case = read_any_case(bytes(row.case))
        assert isinstance(case, GroupCase)
        return differences(row.expect, evaluator.group(case, afresh=False), end_only=True)

    check_rows(rows, found)


def test_a_mistake_of_v136_can_be_left_out() -> None:
    """Required anti-affinity between members holds with the fixes, on rows that differ because of it."""
    rows = [row for row in recorded_groups("gang-affinity") if row.traps]
    evaluator = Evaluator(group_fixes=True)
    assert len(rows) == 16
    assert all(differences(row.expect, evaluator.line(bytes(row.case))) for row in rows)
