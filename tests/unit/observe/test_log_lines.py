from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.builders import node, pod
from tests.unit.observe.metered_engine import MeteredEngine

from stowplan import logs
from stowplan.framework import Bind, Code, Status
from stowplan.logs.log import LogOptions
from stowplan.observe import log_lines

Said = Callable[[], list[str]]
Listen = Callable[[int], Said]


@pytest.fixture
def listen() -> Iterator[Listen]:
    handlers, level = logging.getLogger().handlers[:], logging.getLogger("stowplan").level
    stream = io.StringIO()

    def begin(verbosity: int) -> Said:
        logs.configure(LogOptions(verbosity=verbosity), stderr=stream)
        return lambda: [line.partition("] ")[2] for line in stream.getvalue().splitlines()]

    yield begin
    logs.configure(LogOptions())
    logging.getLogger().handlers[:] = handlers
    logging.getLogger("stowplan").setLevel(level)


def test_by_default_nothing_is_said_of_pods_that_fit_or_do_not(listen: Listen) -> None:
    said = listen(0)
    MeteredEngine(node("n1"), pod("p"), pod("big", requests={"cpu": 100})).host.schedule()
    assert said() == []


def test_at_level_two_what_becomes_of_pods(listen: Listen) -> None:
    said = listen(2)
    MeteredEngine(node("n1"), pod("p"), pod("big", requests={"cpu": 100})).host.schedule()
    assert said() == [
        '"Successfully bound pod to node" pod="default/p" node="n1" evaluatedNodes=1 feasibleNodes=1',
        '"Unable to schedule pod; no fit; waiting" pod="default/big" err="0/1 nodes are available: 1 Insufficient cpu. '
        "no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for "
        'scheduling."',
    ]


def test_at_level_three_what_is_tried(listen: Listen) -> None:
    said = listen(3)
    MeteredEngine(node("n1"), pod("p")).host.schedule()
    assert said() == [
        '"Add event for node" node="n1"',
        '"Add event for unscheduled pod" pod="default/p"',
        '"Attempting to schedule pod" pod="default/p"',
        '"Attempting to bind pod to node" pod="default/p" node="n1"',
        '"Successfully bound pod to node" pod="default/p" node="n1" evaluatedNodes=1 feasibleNodes=1',
        '"Add event for scheduled pod" pod="default/p"',
        '"Delete event for unscheduled pod" pod="default/p"',
    ]


def news(stage: MeteredEngine) -> None:
    """Of nodes and pods that come, change and go."""
    running = pod("running", "n1")
    for item in (node("n1"), version("big", "1"), running, pod("running", "n1", labels={"app": "x"})):
        stage.host.put(item)
    stage.host.put(node("n1", annotations={"heard": "again"}))
    stage.host.put(version("big", "2"))
    stage.host.delete(running, version("big", "2"), node("n1"))


def version(name: str, number: str) -> dict[str, Any]:
    return pod(name, metadata={"resourceVersion": number})


def test_at_level_four_all_news_of_pods_and_nodes(listen: Listen) -> None:
    said = listen(4)
    news(MeteredEngine())
    assert [line for line in said() if " event for " in line] == [
        '"Add event for node" node="n1"',
        '"Add event for unscheduled pod" pod="default/big"',
        '"Add event for scheduled pod" pod="default/running"',
        '"Update event for scheduled pod" pod="default/running"',
        '"Update event for node" node="n1"',
        '"Update event for unscheduled pod" pod="default/big"',
        '"Delete event for scheduled pod" pod="default/running"',
        '"Delete event for unscheduled pod" pod="default/big"',
        '"Delete event for node" node="n1"',
    ]


@pytest.mark.parametrize(("verbosity", "lines"), [(2, 0), (3, 6)])
def test_news_of_changes_are_not_told_at_lower_levels(listen: Listen, verbosity: int, lines: int) -> None:
    said = listen(verbosity)
    news(MeteredEngine())
    assert len(said()) == lines


def test_changes_of_a_pod_that_is_being_bound_are_no_news(listen: Listen) -> None:
    stage = MeteredEngine(node("n1"), version("p", "1"))
    stage.host.schedule(Bind)
    said = listen(4)
    stage.host.put(version("p", "2"))
    assert said() == []


def test_at_level_ten_all_scores(listen: Listen) -> None:
    stage = MeteredEngine(node("n1"), node("n2"), pod("p"))
    said = listen(10)
    stage.host.schedule()
    lines = said()
    assert any(
        line.startswith('"Plugin scored node for pod" pod="default/p" plugin="ImageLocality" node="n2" score=')
        for line in lines
    )
    assert sum(line.startswith('"Calculated node\'s final score for pod"') for line in lines) == 2


@pytest.mark.parametrize(
    ("status", "line"),
    [
        (
            Status(Code.UnschedulableAndUnresolvable, "no nodes available to schedule pods"),
            '"Unable to schedule pod; no nodes are registered to the cluster; waiting" pod="default/p"',
        ),
        (Status(Code.Unschedulable, "full"), '"Unable to schedule pod; no fit; waiting" pod="default/p" err="full"'),
        (Status(Code.Error, "broken"), '"Error scheduling pod; retrying" err="broken" pod="default/p"'),
    ],
)
def test_failures(listen: Listen, status: Status, line: str) -> None:
    stage = MeteredEngine(pod("p"))
    said = listen(2)
    log_lines.attempt_failed(stage.host.unit("p"), status)
    assert said() == [line]


def test_errors_are_said_at_any_level(listen: Listen) -> None:
    stage = MeteredEngine(pod("p"))
    said = listen(0)
    log_lines.attempt_failed(stage.host.unit("p"), Status(Code.Error, "broken"))
    assert len(said()) == 1


def test_moves_in_the_queue(listen: Listen) -> None:
    stage = MeteredEngine(pod("p"))
    unit = stage.host.unit("p")
    unit.unschedulable_plugins = {"NodeName", "NodeAffinity"}
    said = listen(5)
    log_lines.pod_queued(unit, "active", "NodeAdd")
    log_lines.pod_queued(unit, "unschedulable", "ScheduleAttemptFailure")
    moved = '"Pod moved to an internal scheduling queue" pod="default/p"'
    assert said() == [
        f'{moved} event="NodeAdd" queue="Active"',
        f'{moved} event="ScheduleAttemptFailure" queue="Unschedulable" '
        'unschedulablePlugins=["NodeAffinity","NodeName"]',
    ]


def test_a_preemption(listen: Listen) -> None:
    said = listen(2)
    low, high = pod("low", "n1", requests={"cpu": 3}), pod("high", requests={"cpu": 3}, priority=100)
    MeteredEngine(node("n1"), low, high).host.schedule()
    assert [line.partition('" ')[0].strip('"') for line in said()] == [
        "the target node for the preemption is determined",
        "Start the preemption asynchronously",
        "Unable to schedule pod; no fit; waiting",
        "Preemptor Pod preempted victim Pod",
        "Async Preemption finished completely",
        "Successfully bound pod to node",
    ]


def test_a_slow_cycle_is_told_of_at_any_level(listen: Listen) -> None:
    stage = MeteredEngine(node("n1"), pod("p"))
    said = listen(0)
    unit = stage.host.unit("p")
    stage.time[0] = 1.0
    stage.observer.attempt_started(unit)
    decision = stage.host.engine.profiles["default-scheduler"].decide(unit.pod)
    stage.time[0] += 0.25
    stage.observer.decided(unit, decision)
    assert said() == ['"Trace: Scheduling" pod="default/p" totalTime="250ms" evaluatedNodes=1 feasibleNodes=1']


def test_a_pod_that_was_flushed(listen: Listen) -> None:
    stage = MeteredEngine(pod("p"))
    unit = stage.host.unit("p")
    unit.was_flushed = True
    said = listen(4)
    log_lines.bound(unit, "n1", 3, 2)
    assert said()[1].startswith('"Pod scheduled after flush from unschedulablePods" pod="default/p"')


def test_expensive_attempts_are_logged_once_a_minute_by_namespace(listen: Listen) -> None:
    stage = MeteredEngine(pod("p"), pod("q", namespace="other"))
    said = listen(0)
    for now, name in ((0.0, "p"), (1.0, "p"), (1.0, "q"), (59.9, "p"), (60.0, "p")):
        stage.time[0] = now
        stage.observer.attempt_expensive(stage.host.unit(name), 1.25, 3.0)
    line = (
        '"Scheduling attempt is expensive" pod="{}" profile="default-scheduler" seconds=1.25 namespaceWaitsSeconds=3.0'
    )
    assert said() == [line.format(name) for name in ("default/p", "other/q", "default/p")]
