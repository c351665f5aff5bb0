"""Plugins of users, which may raise, answer nonsense, or be coroutines: at worst one pod's attempt fails."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from datetime import timedelta
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.builders import node, pod
from tests.builders.engine_host import Host
from tests.unit.engine.recorder import Recorded, Recorder, configuration

from stowplan.framework import Code, CycleState, Pod, PodTemplate, PostFilterResult, Status, error, reject, skip, wait
from stowplan.framework.safe_text import shown

BOOM = ValueError("boom")
RAISED = "raised ValueError: boom"
NONSENSE = "it returned 42, expected a Status or None"

TEXTS = {
    "pre_filter": 'running PreFilter plugin "Recorder": {}',
    "filter": 'running "Recorder" filter plugin: {}',
    "pre_score": 'running PreScore plugin "Recorder": {}',
    "score": 'running Score plugins: plugin "Recorder" failed with: {}',
    "normalize_score": 'running Normalize on Score plugins: plugin "Recorder" failed with: {}',
    "reserve": 'running Reserve plugin "Recorder": {}',
    "permit": 'running Permit plugin "Recorder": {}',
    "pre_bind_pre_flight": 'running PreBindPreFlight "Recorder": {}',
    "pre_bind": 'running PreBind plugin "Recorder": {}',
    "bind": 'running Bind plugin "Recorder": {}',
}
NONSENSE_AT = {
    "pre_filter": "pre_filter returned 42, expected a Status, node names or None",
    "score": "score returned 'high', expected a number",
}


def attempt(point: str, answer: Any) -> Recorded:
    host = Recorded(node("a"), node("b"), pod("p"), answers={point: answer})
    host.schedule()
    return host


def condition(host: Host) -> tuple[str, str, str]:
    """The condition of the pod, without the line that raised."""
    status, reason, message = host.condition("p")
    return status, reason, re.sub(r" \(tests/\S+\.py:\d+\)", "", message)


@pytest.mark.parametrize("point", TEXTS)
def test_one_that_raises_fails_the_attempt_by_name(point: str) -> None:
    host = attempt(point, BOOM)
    assert condition(host) == ("False", "SchedulerError", TEXTS[point].format(f"{point} {RAISED}"))
    assert re.search(r"boom \(tests/unit/engine/recorder.py:\d+\)", host.condition("p")[2])
    assert (host.place("p"), host.assumed) == ("error_backoff", set())


@pytest.mark.parametrize("point", TEXTS)
def test_so_does_one_that_answers_nonsense(point: str) -> None:
    host = attempt(point, "high" if point == "score" else 42)
    assert host.condition("p")[2] == TEXTS[point].format(NONSENSE_AT.get(point, NONSENSE))
    assert (host.place("p"), host.assumed) == ("error_backoff", set())


@pytest.mark.parametrize("point", ["post_bind", "less", "events_to_register", "concerns"])
@pytest.mark.parametrize("answer", [BOOM, 42])
def test_where_nothing_depends_on_it_nothing_happens(point: str, answer: Any) -> None:
    class Careless(Recorder):
        def concerns(self, template: PodTemplate) -> bool:
            return self._at("concerns", default=True)

    Careless.told, Careless.answers = [], {point: answer}
    config = configuration("Recorder", sorts=True)
    host = Host(node("a"), pod("p"), pod("q"), config=config, plugins={"Recorder": Careless})
    host.schedule()
    assert (host.node_of("p"), host.node_of("q")) == ("a", "a")
    assert any(each.startswith(point) for each in Careless.told)


def test_one_that_raises_while_it_takes_back_keeps_nobody_else_from_doing_so() -> None:
    host = Recorded(node("a"), pod("p"), answers={"reserve": reject("no"), "unreserve": BOOM})
    host.schedule()
    assert (host.place("p"), host.assumed) == ("unschedulable", set())


@pytest.mark.parametrize("answer", [BOOM, 42])
def test_a_gate_that_is_broken_stays_shut(answer: Any) -> None:
    host = Recorded(node("a"), pod("p"), answers={"pre_enqueue": answer})
    assert host.place("p") == "gated"
    assert host.unit("p").gating_plugin == "Recorder"


def test_post_filter_that_raises_is_told_in_the_message() -> None:
    host = Recorded(node("a", cpu=1), pod("p", requests={"cpu": 2}), answers={"post_filter": BOOM})
    host.schedule()
    assert host.condition("p")[1] == "Unschedulable"
    assert "post_filter raised ValueError: boom" in host.condition("p")[2]


class Coroutines(Recorder):
    """All points that may be coroutines are."""

    async def permit(self, state: CycleState, pod: Pod, node_name: str) -> Any:
        await asyncio.sleep(0)
        return super().permit(state, pod, node_name)

    async def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Any:
        await asyncio.sleep(0)
        return super().pre_bind(state, pod, node_name)

    async def bind(self, state: CycleState, pod: Pod, node_name: str) -> Any:
        await asyncio.sleep(0)
        return super().bind(state, pod, node_name)

    async def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> Any:
        await asyncio.sleep(0)
        return super().post_bind(state, pod, node_name)


def coroutines(**given: Any) -> Host:
    kind = type("Coroutines", (Coroutines,), {"told": [], "answers": given})
    host = Host(node("a"), pod("p"), config=configuration("Recorder"), plugins={"Recorder": kind})
    host.schedule()
    return host


class TestCoroutines:
    def test_they_are_awaited(self) -> None:
        host = coroutines()
        assert host.node_of("p") == "a"
        plugin = host.engine.profiles["default-scheduler"].points["permit"][-1].inner  # type: ignore[attr-defined]
        assert plugin.told[-5:] == ["permit a", "pre_bind_pre_flight a", "pre_bind a", "bind a", "post_bind a"]

    def test_they_may_hold_a_pod_back(self) -> None:
        host = coroutines(permit=wait(5))
        assert host.assumed == {"p"}
        host.engine.waiting_pods.get("default/p").allow("Recorder")
        host.settle()
        assert host.node_of("p") == "a"

    @pytest.mark.parametrize("point", ["permit", "pre_bind", "bind"])
    @pytest.mark.parametrize("answer", [BOOM, error("raised ValueError: boom"), 42])
    def test_they_may_fail(self, point: str, answer: Any) -> None:
        host = coroutines(**{point: answer})
        told = {BOOM: f"{point} {RAISED}", 42: NONSENSE}.get(answer, RAISED)
        assert condition(host) == ("False", "SchedulerError", TEXTS[point].format(told))
        assert host.place("p") == "error_backoff"

    def test_what_they_raise_after_the_binding_does_not_matter(self) -> None:
        host = coroutines(post_bind=BOOM, bind=skip())
        assert (host.node_of("p"), host.engine.attempts) == ("a", {})


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise AttributeError("reason")


def raising(problem: BaseException) -> Callable[[Pod], Any]:
    def answer(pod: Pod) -> Any:
        raise problem

    return answer


class Unspeakable:
    """A value that cannot even be shown."""

    def __repr__(self) -> str:
        raise AttributeError("name")


@pytest.mark.parametrize("point", ["reserve", "permit", "pre_bind_pre_flight", "pre_bind", "bind"])
def test_an_answer_that_cannot_be_shown_is_told_of_as_far_as_it_can(point: str) -> None:
    host = attempt(point, Unspeakable())
    told = "it returned (a value of type Unspeakable that cannot be shown), expected a Status or None"
    assert host.condition("p") == ("False", "SchedulerError", TEXTS[point].format(told))
    assert (host.place("p"), host.assumed) == ("error_backoff", set())


@pytest.mark.parametrize("point", TEXTS)
@pytest.mark.parametrize(
    ("problem", "told"),
    [
        (UnspeakableError(), "raised UnspeakableError: (no text)"),
        (asyncio.CancelledError("enough"), "raised CancelledError: enough"),
        (SystemExit(3), "raised SystemExit: 3"),
    ],
    ids=["unspeakable", "cancelled", "exit"],
)
def test_whatever_is_raised_fails_the_attempt_alone(point: str, problem: BaseException, told: str) -> None:
    host = attempt(point, raising(problem))
    assert condition(host) == ("False", "SchedulerError", TEXTS[point].format(f"{point} {told}"))
    assert (host.place("p"), host.assumed) == ("error_backoff", set())


@pytest.mark.parametrize("seconds", ["5s", None, timedelta(seconds=5), -(10**400), Unspeakable()], ids=type)
def test_a_time_to_wait_that_is_none_fails_the_attempt_by_name(seconds: Any) -> None:
    host = attempt("permit", wait(seconds))
    told = f"permit returned wait({shown(seconds)}), expected a number of seconds"
    assert host.condition("p") == ("False", "SchedulerError", TEXTS["permit"].format(told))
    assert (host.place("p"), host.assumed) == ("error_backoff", set())


@pytest.mark.parametrize("seconds", [Fraction(5), np.int64(5), np.float32(5)], ids=type)
def test_a_time_to_wait_may_be_any_number(seconds: Any) -> None:
    host = Recorded(node("a"), pod("p"), answers={"permit": wait(seconds)})
    assert host.engine.schedule_one()
    host.settle()
    assert host.assumed == {"p"}
    host.pass_time(host.clock.now + 5)
    assert "rejected due to timeout after waiting 5s at plugin Recorder" in host.events("p")[0]


@pytest.mark.parametrize("point", ["reserve", "permit", "pre_bind_pre_flight", "pre_bind", "bind"])
@pytest.mark.parametrize(
    ("status", "told"),
    [
        (reject(7), "it gave 7 as a reason, expected a string"),  # type: ignore[arg-type]
        (Status(9), "it returned a Status with the code 9, expected one of Code"),  # type: ignore[arg-type]
    ],
    ids=["reason", "code"],
)
def test_a_status_that_makes_no_sense_fails_the_attempt_by_name(point: str, status: Status, told: str) -> None:
    host = attempt(point, status)
    assert host.condition("p") == ("False", "SchedulerError", TEXTS[point].format(told))


def test_post_filter_with_a_status_that_makes_no_sense_is_told_in_the_message() -> None:
    answer = PostFilterResult("", reject(7))  # type: ignore[arg-type]
    host = Recorded(node("a", cpu=1), pod("p", requests={"cpu": 2}), answers={"post_filter": answer})
    host.schedule()
    assert "it gave 7 as a reason, expected a string" in host.condition("p")[2]


class Twisted(Status):
    """A verdict that breaks whoever looks at it."""

    __slots__ = ()

    @property
    def reasons(self) -> Any:
        raise AttributeError("name")

    @reasons.setter
    def reasons(self, given: Any) -> None:
        pass


def test_what_nobody_thought_of_costs_the_attempt_alone() -> None:
    host = attempt("reserve", Twisted(Code.Unschedulable))
    assert host.condition("p") == ("False", "SchedulerError", "internal error: AttributeError: name")
    assert (host.place("p"), host.assumed) == ("error_backoff", set())


@pytest.mark.parametrize("answer", [Unspeakable(), Twisted(Code.Unschedulable)], ids=["unspeakable", "twisted"])
def test_a_bound_pod_is_not_taken_back_whatever_comes_after_the_binding(answer: Any) -> None:
    host = Recorded(node("a"), pod("p"), answers={"post_bind": answer})
    host.schedule()
    assert (host.node_of("p"), host.events("p")) == ("a", ["Scheduled: Successfully assigned default/p to a"])
    assert not any(each.startswith("unreserve") for each in host.told)


def test_a_time_to_wait_that_is_no_number_is_over_at_once() -> None:
    host = Recorded(node("a"), pod("p"), answers={"permit": wait(float("nan"))})
    assert host.engine.schedule_one()
    host.settle()
    host.pass_time(host.clock.now)
    timed_out = "rejected due to timeout after waiting 0s at plugin Recorder"
    assert host.events("p") == [f"FailedScheduling: 0/1 nodes are available: 1 {timed_out}."]


@pytest.mark.parametrize("point", ["filter", "permit", "pre_bind"])
def test_words_that_cannot_be_written_are_told_as_far_as_they_can(point: str) -> None:
    host = Recorded(node("a"), pod("p"), answers={point: reject("no file file\udce9")})
    assert host.engine.schedule_one()
    host.settle()
    assert "no file file?" in host.condition("p")[2]
    assert "no file file?" in host.events("p")[0]


def test_a_rejection_is_not_an_error_of_the_plugin() -> None:
    host = attempt("permit", Status(3, "never"))  # type: ignore[arg-type]
    assert host.condition("p") == ("False", "Unschedulable", "0/1 nodes are available: 1 never.")
