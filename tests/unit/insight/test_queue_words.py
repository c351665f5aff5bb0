"""The queue in words, and the sentences of pods that no filter keeps from a node."""

from __future__ import annotations

from typing import Any

import pytest
from tests.builders import ZONE, node, pod, spread
from tests.builders.engine_host import NOW, Host

from stowplan import framework as fwk
from stowplan.framework import Bind, Explanation, Plugin
from stowplan.insight.explain import run
from stowplan.insight.insight import Insight
from stowplan.insight.queue_words import duration_in_words, history_of
from stowplan.insight.text.layout import Layout
from stowplan.insight.text.pending import pending_lines
from stowplan.insight.text.placed import placed_lines

TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}


def explained(host: Host, name: str) -> Explanation:
    insight = Insight(host.engine, host.clock)
    return run(insight.explain(insight.find(name).pod))


def queue_text(host: Host, name: str) -> str:
    queue = explained(host, name).queue
    assert queue is not None
    return queue.text


def test_an_unschedulable_pod_names_the_events_that_wake_it() -> None:
    host = Host(node("a", cpu="1"), pod("big", requests={"cpu": "2"}))
    host.schedule()
    host.advance(240)
    answer = explained(host, "big")
    assert answer.queue is not None
    assert answer.queue.place == "unschedulable"
    assert answer.queue.text == (
        "unschedulable for 4 min, after 1 attempt; tried again at 13:52:10 at the latest, or when a pod leaves or "
        "shrinks, or a node joins, grows, loses a taint or is uncordoned"
    )
    assert answer.queue.latest == "1970-01-12T13:52:10Z"
    assert answer.queue.plugins == ("NodeResourcesFit",)
    assert {wake.event for wake in answer.queue.wakes} >= {"NodeAdd", "PodDelete"}


def tried_three_times() -> Host:
    """Rejected twice for cpu, then for a taint as well; tried again after five minutes."""
    host = Host(node("a", cpu="1"), pod("big", requests={"cpu": "2"}))
    host.schedule()
    host.advance(400)
    host.schedule()
    host.put(node("tainted", cpu="1", taints=[TAINT]))
    host.advance(400)
    host.schedule()
    return host


def test_the_history_of_attempts() -> None:
    host = tried_three_times()
    answer = explained(host, "big")
    assert [(each.attempts, each.verdict, each.plugins) for each in answer.history] == [
        (2, "rejected", ("NodeResourcesFit",)),
        (1, "rejected", ("NodeResourcesFit", "TaintToleration")),
    ]
    assert answer.history[-1].message == answer.message
    text = list(pending_lines(answer, Layout(80)))
    start = text.index("Attempts")
    assert text[start + 1 : start + 3] == [
        "  13:46:40  2 times until 13:52:10: rejected by NodeResourcesFit",
        "  13:57:40  rejected by NodeResourcesFit and TaintToleration",
    ]


def test_a_placed_pod_has_its_failed_attempts() -> None:
    host = Host(node("a", cpu="1"), pod("big", requests={"cpu": "2"}))
    host.schedule()
    host.put(node("b", cpu="4"))
    host.advance(60)
    insight = Insight(host.engine, host.clock)
    found = insight.find("big")
    assert found.placed
    answer = run(insight.explain_placed(found.pod))
    assert [(each.attempts, each.plugins) for each in answer.history] == [(1, ("NodeResourcesFit",))]
    text = list(placed_lines(answer, Layout(80)))
    assert text[text.index("Failed attempts before") + 1] == "  13:46:40  rejected by NodeResourcesFit"


def test_equal_attempts_are_not_listed() -> None:
    host = Host(node("a", cpu="1"), pod("big", requests={"cpu": "2"}))
    host.schedule()
    answer = explained(host, "big")
    assert [each.attempts for each in answer.history] == [1]
    assert "Attempts" not in list(pending_lines(answer, Layout(80)))


class Broken(Plugin):
    name = "Broken"

    def filter(self, state: Any, pod: Any, node: Any) -> Any:
        raise RuntimeError("no such quota")


def test_errors_are_part_of_the_history() -> None:
    host = Host(node("a"), pod("web"), plugins={"Broken": Broken})
    host.schedule()
    insight = Insight(host.engine, host.clock)
    (entry,) = history_of(host.engine, insight.clocks, insight.find("web").pod)
    assert entry.verdict == "error"
    assert "no such quota" in entry.message


def test_the_latest_retry_is_when_the_pod_is_really_tried_again() -> None:
    host = Host(node("a", cpu="1"), pod("big", requests={"cpu": "2"}))
    host.schedule()
    info = host.unit("big")
    latest = host.engine.retry_deadline(info)
    host.advance(300)
    assert host.place("big") == "unschedulable"
    assert not info.was_flushed
    host.pass_time(latest)
    assert info.was_flushed


def test_spread_is_woken_by_pods_of_its_selector() -> None:
    host = Host(
        node("a", zone="z1"),
        node("b", zone="z2", unschedulable=True),
        pod("p0", "a", labels={"app": "a"}),
        pod("new", labels={"app": "a"}, topologySpreadConstraints=[spread(ZONE)]),
    )
    host.schedule()
    assert "a pod with app=a comes, leaves or changes labels" in queue_text(host, "new")


def test_a_gated_pod_waits_for_its_gate() -> None:
    gated = pod("web", schedulingGates=[{"name": "example.com/quota"}])
    host = Host(node("a"), node("b"), gated)
    host.schedule()
    answer = explained(host, "web")
    assert (answer.state, answer.verdict) == ("gated", "waiting")
    assert answer.sentence == ("Waits for the removal of the gate example.com/quota; no node has been looked at.")
    assert answer.more[0] in {
        "Without the gate it would fit on 2 nodes now; a is the best.",
        "Without the gate it would fit on 2 nodes now; b is the best.",
    }
    assert answer.queue is not None
    assert answer.queue.text == "gated by SchedulingGates; woken when it loses its gates"


def test_a_gated_pod_that_fits_nowhere_is_explained() -> None:
    gates = [{"name": "one"}, {"name": "two"}]
    host = Host(node("a", cpu="1"), pod("web", requests={"cpu": "2"}, schedulingGates=gates))
    host.schedule()
    answer = explained(host, "web")
    assert answer.sentence == "Waits for the removal of the gates one and two; no node has been looked at."
    assert answer.more[0] == "Without the gates it would not fit: Asks for 2 CPU; the only node has 1."
    assert answer.steps


def test_a_preemptor_waits_for_its_victims() -> None:
    host = Host(
        node("a", cpu="2"),
        pod("low", "a", requests={"cpu": "2"}, priority=0, terminationGracePeriodSeconds=30),
        pod("high", requests={"cpu": "2"}, priority=10),
        grace=30.0,
    )
    host.schedule()
    answer = explained(host, "high")
    assert answer.verdict == "waiting"
    assert answer.because is not None
    assert answer.because.id == "preempting"
    assert answer.sentence == "Room is being made on a: default/low is being deleted."


class Gang(Plugin):
    name = "Gang"

    def permit(self, state: Any, pod: Any, node_name: str) -> Any:
        return fwk.wait(40, "3 of 8")


def test_a_pod_that_waits_at_permit_has_its_node() -> None:
    host = Host(node("a"), pod("web"), plugins={"Gang": Gang})
    host.schedule()
    host.advance(10)
    answer = explained(host, "web")
    assert answer.state == "waiting"
    assert answer.sentence == "a is kept for it; Gang (3 of 8) holds it back, up to 30 s more."


def test_active_pods_know_who_is_ahead() -> None:
    host = Host(node("a"), *(pod(f"p{number}", priority=number) for number in range(6)))
    host.deliver()
    assert queue_text(host, "p5") == "next to be tried"
    assert queue_text(host, "p0") == (
        "behind 5 pods; ahead: default/p5 (priority 5), default/p4 (priority 4), default/p3 (priority 3), …"
    )


def test_a_long_queue_is_not_counted_to_the_end() -> None:
    host = Host(node("a"), *(pod(f"p{number:04}", priority=9999 - number) for number in range(1200)))
    host.deliver()
    assert queue_text(host, "p0500").startswith("behind 500 pods; ahead: default/p0000 (priority 9999), default/p0001")
    assert queue_text(host, "p1199").startswith("behind more than 500 pods; ahead: default/p0000 (priority 9999), ")


def test_backoff_has_an_end() -> None:
    host = Host(node("a", cpu="1"), pod("big", requests={"cpu": "2"}))
    host.schedule()
    host.put(node("b", cpu="4"))
    host.deliver()
    assert host.place("big") == "backoff"
    assert queue_text(host, "big").startswith("in backoff until 13:46:4")
    assert host.clock.now == NOW


def test_a_pod_that_is_being_bound() -> None:
    host = Host(node("a"), pod("web"))
    host.schedule(Bind)
    insight = Insight(host.engine, host.clock)
    found = insight.find("web")
    assert found.placed


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59, "59 s"), (61, "1 min"), (7300, "2 h"), (86400, "1 day"), (200000, "2 days")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration_in_words(seconds) == text
