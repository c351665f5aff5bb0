from collections.abc import Iterable

from tests.unit.simulator.runs import Run, asking
from tests.unit.simulator.simulated_cluster import node, pod

from stowplan.simulator.report import report_of
from stowplan.simulator.report.changed_since_snapshot import changed_pods, states_before

ITEMS = (
    node("n", cpu="4"),
    pod("runs", "n", uid="runs"),
    pod("helped", uid="helped"),
    pod("stuck", uid="stuck", **asking("9")),
    pod("new", uid="new"),
    pod("new-stuck", uid="new-stuck", **asking("9")),
)
BEFORE = states_before(ITEMS, frozenset({"runs", "helped", "stuck", "n"}))


def test_how_pods_fared_before() -> None:
    assert BEFORE == {"runs": "Running", "helped": "Pending", "stuck": "Pending"}


def names(told: Iterable[str]) -> list[str]:
    return [each.removeprefix("default/") for each in told]


def test_only_what_is_new_is_told() -> None:
    run = Run(*ITEMS)
    report = report_of(run.simulation, run.recorder, {}, BEFORE)
    assert {each.pod.removeprefix("default/"): each.before for each in report.pods if each.before} == BEFORE
    assert (report.summary.pending, report.summary.pending_before) == (2, 1)
    news = changed_pods(report, include_still_pending=False)
    assert names(each.pod for each in news.pods) == ["helped", "new", "new-stuck"]
    assert [names(each.pods) for each in news.pending] == [["new-stuck"]]
    assert (news.nodes, news.summary) == (report.nodes, report.summary)
    all_that_waited = changed_pods(report, include_still_pending=True)
    assert names(each.pod for each in all_that_waited.pods) == ["helped", "new", "new-stuck", "stuck"]
    assert [names(each.pods) for each in all_that_waited.pending] == [["new-stuck", "stuck"]]


def test_without_a_cluster_everything_is_news() -> None:
    report = Run(*ITEMS).report()
    assert changed_pods(report, include_still_pending=False) == report
