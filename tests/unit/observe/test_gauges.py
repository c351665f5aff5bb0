from __future__ import annotations

from tests.builders import node, pod
from tests.unit.observe.metered_engine import MeteredEngine

from stowplan.framework import Bind
from stowplan.observe.gauges import RetriedRead, gauge_sources


def test_what_changes_while_it_is_read_is_read_again() -> None:
    outcomes = [RuntimeError("dictionary changed size during iteration"), 5]

    def read() -> int:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    assert RetriedRead(read, 0)() == 5


def test_what_never_keeps_still_is_told_as_it_was_last() -> None:
    restless = [False]

    def read() -> int:
        if restless[0]:
            raise RuntimeError("changed")
        return 5

    steady = RetriedRead(read, 0)
    assert steady() == 5
    restless[0] = True
    assert steady() == 5


def test_an_engine() -> None:
    gated = pod("gated", schedulingGates=[{"name": "example.com/wait"}])
    stage = MeteredEngine(node("n1"), pod("p"), pod("big", requests={"cpu": 100}), gated, pod("running", "n1"))
    stage.host.schedule(Bind)
    sources = gauge_sources(stage.host.engine)
    assert sources.pending_pods() == {"active": 0, "backoff": 0, "unschedulable": 1, "gated": 1}
    assert sources.cache_size() == {"nodes": 1, "pods": 2, "assumed_pods": 1}
    assert sources.unschedulable_pods() == {
        ("NodeResourcesFit", "default-scheduler"): 1,
        ("SchedulingGates", "default-scheduler"): 1,
    }
    assert sources.goroutines() == {
        "binding": 1,
        "DefaultPreemption": 0,
        **dict.fromkeys(("Filter", "Score", "InterPodAffinity", "PodTopologySpread"), 0),
    }
    assert sources.inflight_events() == {"PodPopped": 0}
