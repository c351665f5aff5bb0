"""Answers of a running scheduler, in slices between its scheduling cycles."""

from typing import Any

import pytest
from tests.builders import Clock, Json, container, node, pod, profile_config
from tests.builders.engine_host import Host

from stowplan.framework.explanation import Explanation, PendingPods, PlacedExplanation, WhyNot
from stowplan.insight.finding import NodeNotFoundError, PodNotFoundError
from stowplan.insight.insight import TOO_LARGE, Insight, TooLargeError
from stowplan.insight.workloads import WorkloadName, WorkloadReference
from stowplan.runtime.decide.diagnosis import Diagnosis
from stowplan.scheduler.answers import (
    ANSWER_SLICE_SECONDS,
    MAX_ANSWER_SHARE,
    MAX_QUEUED_QUESTIONS,
    MAX_RESTARTS,
    PIECE_SECONDS,
    AnswerFailedError,
    Answers,
)
from stowplan.scheduler.live_insight import LiveInsight, last_message
from stowplan.serving.insight_pages import NotReadyError, TooManyQuestionsError


class Counting:
    """Takes a number of pieces of some time each."""

    def __init__(self, clock: Clock, pieces: int, seconds: float = 0.001) -> None:
        self.clock = clock
        self.pieces = pieces
        self.seconds = seconds
        self.begun = 0
        self.state = 0

    def begin(self) -> Any:
        self.begun += 1
        return self._run()

    def _run(self) -> Any:
        for _ in range(self.pieces):
            self.clock.now += self.seconds
            yield
        return "done"

    def revision(self) -> int:
        return self.state


class Rig:
    def __init__(self) -> None:
        self.clock = Clock()
        self.host = Host()
        self.woken = 0
        self.answers = Answers(self.host.engine, self.wake, self.clock)

    def wake(self) -> None:
        self.woken += 1


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_a_slice_takes_two_milliseconds_at_most(rig: Rig) -> None:
    future = rig.answers.ask(Counting(rig.clock, 5, 0.0006))
    assert rig.woken == 1
    began = rig.clock.now
    assert rig.answers.run_slice(busy=False)
    assert rig.clock.now - began == pytest.approx(0.0012)
    assert rig.answers.run_slice(busy=False)
    assert not rig.answers.run_slice(busy=False)
    answer = future.result(0)
    assert answer.result == "done"
    assert answer.seconds == pytest.approx(0.003)
    assert answer.longest_slice_seconds == pytest.approx(0.0012)
    assert not rig.answers.waiting


def test_no_piece_starts_that_would_exceed_the_slice(rig: Rig) -> None:
    for seconds in (PIECE_SECONDS, 0.7 * PIECE_SECONDS, 0.1 * PIECE_SECONDS):
        future = rig.answers.ask(Counting(rig.clock, 50, seconds))
        while rig.answers.run_slice(busy=False):
            pass
        assert future.result(0).longest_slice_seconds <= ANSWER_SLICE_SECONDS


def test_a_short_question_overtakes_the_answer_under_way(rig: Rig) -> None:
    long, short = Counting(rig.clock, 50, PIECE_SECONDS), Counting(rig.clock, 0)
    under_way = rig.answers.ask(long)
    assert rig.answers.run_slice(busy=False)
    overtaking = rig.answers.ask(short, first=True)
    assert rig.answers.run_slice(busy=False)
    assert overtaking.done()
    assert not under_way.done()
    while rig.answers.run_slice(busy=False):
        pass
    assert under_way.result(0).restarts == 0


def test_answers_take_a_tenth_of_the_time_of_a_busy_loop(rig: Rig) -> None:
    question = Counting(rig.clock, 500)
    rig.answers.ask(question)
    began, spent = rig.clock.now, 0.0
    for _ in range(1000):
        before = rig.clock.now
        rig.answers.run_slice(busy=True)
        spent += rig.clock.now - before
        rig.clock.now += 0.001  # A scheduling cycle.
    assert spent / (rig.clock.now - began) == pytest.approx(MAX_ANSWER_SHARE, rel=0.05)


def test_questions_are_answered_one_after_the_other(rig: Rig) -> None:
    first, second = (rig.answers.ask(Counting(rig.clock, 3)) for _ in range(2))
    while not first.done():
        rig.answers.run_slice(busy=False)
        assert not second.done() or first.done()
    while rig.answers.run_slice(busy=False):
        pass
    assert second.done()


def test_a_full_queue_refuses_questions(rig: Rig) -> None:
    for _ in range(MAX_QUEUED_QUESTIONS):
        rig.answers.ask(Counting(rig.clock, 1))
    with pytest.raises(TooManyQuestionsError, match="16 questions"):
        rig.answers.ask(Counting(rig.clock, 1))


def test_a_change_starts_the_answer_again_three_times_at_most(rig: Rig) -> None:
    question = Counting(rig.clock, 5)
    future = rig.answers.ask(question)
    while rig.answers.run_slice(busy=False):
        question.state += 1
    assert question.begun == 1 + MAX_RESTARTS
    assert future.result(0).restarts == MAX_RESTARTS


def test_a_failure_after_too_many_changes_is_not_a_bug(rig: Rig) -> None:
    class Vanishing(Counting):
        def _run(self) -> Any:
            yield from super()._run()
            raise KeyError("a node that is gone")

    question = Vanishing(rig.clock, 5)
    future = rig.answers.ask(question)
    while rig.answers.run_slice(busy=False):
        question.state += 1
    with pytest.raises(NotReadyError, match="the cluster changes faster than the answer is computed"):
        future.result(0)


def test_a_question_that_nobody_waits_for_any_more_is_dropped(rig: Rig) -> None:
    question = Counting(rig.clock, 5)
    future = rig.answers.ask(question)
    future.cancel()
    assert not rig.answers.run_slice(busy=False)
    assert question.begun == 0


def test_a_bug_fails_the_question_and_not_the_scheduler(rig: Rig) -> None:
    class Broken(Counting):
        def _run(self) -> Any:
            yield
            raise KeyError("oops")

    future = rig.answers.ask(Broken(rig.clock, 1))
    assert not rig.answers.run_slice(busy=False)
    with pytest.raises(AnswerFailedError, match="KeyError"):
        future.result(0)


def test_questions_fail_when_the_scheduler_stops(rig: Rig) -> None:
    future = rig.answers.ask(Counting(rig.clock, 1))
    rig.answers.close()
    with pytest.raises(NotReadyError, match="shutting down"):
        future.result(0)
    assert not rig.answers.waiting


class Live:
    """A scheduler with a node and a pod that is too large for it."""

    def __init__(self, *more: Json, **options: Any) -> None:
        large, small = pod("large", containers=[container(cpu="9")]), pod("small")
        self.host = Host(node("n", cpu="4"), large, small, *more, **options)
        self.host.schedule()
        engine = self.host.engine
        self.answers = Answers(engine, lambda: None)
        insight = Insight(engine, self.host.clock, last_message=last_message(engine), running=True)
        self.ready = True
        self.insight = LiveInsight(insight, engine, self.answers, lambda: self.ready)

    def answer(self, future: Any) -> Any:
        while self.answers.run_slice(busy=False):
            pass
        return future.result(0)


@pytest.fixture
def live() -> Live:
    return Live()


def test_a_pending_pod_is_explained_with_the_message_of_its_last_attempt(live: Live) -> None:
    found = live.answer(live.insight.explain("default", "large", 5))
    assert isinstance(found, Explanation)
    assert found.message.startswith("0/1 nodes are available: 1 Insufficient cpu")
    assert "9 CPU" in found.sentence
    assert found.as_of.source == "scheduler"
    assert found.as_of.revision > 0
    assert found.took.ms > 0


def test_no_victims_are_searched_for(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    profile = next(iter(live.host.engine.profiles.values()))
    monkeypatch.setattr(profile, "explain_decision", lambda pod: pytest.fail("the attempt is made again"))
    live.answer(live.insight.explain("default", "large", 5))


def test_placed_pods_nodes_and_the_list_of_pending_pods(live: Live) -> None:
    assert isinstance(live.answer(live.insight.explain("default", "small", 5)), PlacedExplanation)
    refused = live.answer(live.insight.why_not("default", "large", "n"))
    assert isinstance(refused, WhyNot)
    assert not refused.fits
    listed = live.answer(live.insight.pending(""))
    assert isinstance(listed, PendingPods)
    assert listed.pods == 1


def test_unknown_names(live: Live) -> None:
    line = "pod default/none is not known to the scheduler: it is neither on a node nor pending for default-scheduler"
    with pytest.raises(PodNotFoundError, match=line):
        live.answer(live.insight.explain("default", "none", 5))
    with pytest.raises(NodeNotFoundError, match="node m is not known"):
        live.answer(live.insight.why_not("default", "large", "m"))


def test_pods_are_found_by_their_uid(live: Live) -> None:
    assert live.answer(live.insight.explain("", "default/large", 5)).pod.name == "large"


OTHER = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "db"}


def test_workloads() -> None:
    live = Live(
        *(pod(f"db-{number}", requests={"cpu": "5"}, owner=OTHER) for number in range(3)),
        pod("db-3", "n", owner=OTHER),
    )
    found = live.answer(live.insight.workload(WorkloadReference("default", WorkloadName("StatefulSet", "db")), 2))
    assert isinstance(found, PendingPods)
    assert (found.workload, found.pods, found.placed) == ("default/StatefulSet/db", 3, 1)
    (group,) = found.groups
    assert group.explanation is not None
    assert group.explanation.proposals[0].opens == 1
    assert not group.explanation.proposals[0].pods
    assert found.as_of.source == "scheduler"
    with pytest.raises(PodNotFoundError, match="no pod belongs to Deployment/web in namespace default"):
        live.answer(live.insight.workload(WorkloadReference("default", WorkloadName("Deployment", "web")), 2))


def test_another_profile() -> None:
    config = profile_config()
    without_fit = {"multiPoint": {"disabled": [{"name": "NodeResourcesFit"}]}}
    config["profiles"].append({"schedulerName": "tolerant", "plugins": without_fit})
    live = Live(config=config)
    assert live.answer(live.insight.explain("default", "large", 5)).verdict == "never"
    assert live.answer(live.insight.explain("default", "large", 5, "tolerant")).verdict == "fits"
    assert live.answer(live.insight.why_not("default", "large", "n", "tolerant")).fits
    with pytest.raises(PodNotFoundError, match="no profile has the schedulerName x"):
        live.answer(live.insight.explain("default", "large", 5, "x"))


def test_before_the_caches_are_synced_there_is_no_answer(live: Live) -> None:
    live.ready = False
    with pytest.raises(NotReadyError, match="not synced"):
        live.insight.explain("default", "large", 5)


GATES = [{"name": f"gate-{number:04}.example.com/{'x' * 60}"} for number in range(300)]
LONG_SPEC: Json = {"nodeSelector": {f"key-{number}": "value" for number in range(2000)}}


@pytest.fixture
def hostile() -> Live:
    """Pods with specs that their owners made as large as they can."""
    return Live(
        pod("pending", **LONG_SPEC),
        pod("gated", schedulingGates=GATES),
        pod("placed", "n", **LONG_SPEC),
    )


@pytest.fixture
def nothing_is_filtered(hostile: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("insight.matrix", "runtime.decide.diagnosis"):
        refused = f"stowplan.{module}.run_pre_filters"
        monkeypatch.setattr(refused, lambda *given: pytest.fail("the spec is filtered"))


@pytest.mark.usefixtures("nothing_is_filtered")
def test_large_specs_are_not_explained(hostile: Live) -> None:
    for name in ("pending", "gated", "placed"):
        found = hostile.answer(hostile.insight.explain("default", name, 5))
        assert found.sentence == TOO_LARGE
        with pytest.raises(TooLargeError, match="too large"):
            hostile.answer(hostile.insight.why_not("default", name, "n"))


def test_specs_that_take_long_to_filter_are_not_explained(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred constraints fit into a spec of ordinary size."""
    monkeypatch.setattr("stowplan.insight.insight.MAX_FILTER_SECONDS", -1.0)
    monkeypatch.setattr(Diagnosis, "run", lambda diagnosis: pytest.fail("a change is checked"))
    for name in ("large", "small"):
        assert live.answer(live.insight.explain("default", name, 5)).sentence == TOO_LARGE
        with pytest.raises(TooLargeError):
            live.answer(live.insight.why_not("default", name, "n"))
    assert [group.because for group in live.answer(live.insight.pending("")).groups] == ["too-large"]


def test_large_specs_are_one_group_of_the_list(hostile: Live) -> None:
    listed = hostile.answer(hostile.insight.pending(""))
    assert {group.sentence: group.pods for group in listed.groups}[TOO_LARGE] == 2


def test_a_list_of_many_templates_explains_the_most_frequent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stowplan.insight.groups.MAX_EXPLAINED_TEMPLATES", 1)
    live = Live(
        *(pod(f"twin-{number}", requests={"cpu": "7"}) for number in range(2)),
        *(pod(f"other-{number}", requests={"cpu": f"{5 + number}"}) for number in range(3)),
    )
    listed = live.answer(live.insight.pending(""))
    assert [(group.because, group.pods) for group in listed.groups] == [
        ("not-explained", 3),
        ("resources.too-small", 3),
    ]
    assert listed.groups[0].sentence.startswith("0/1 nodes are available: 1 Insufficient cpu.")
