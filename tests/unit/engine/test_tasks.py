"""Coroutines that are driven by answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from stowplan import api
from stowplan.engine.tasks import Tasks
from stowplan.engine.timers import Timers
from stowplan.framework import CancelledError, Pod, PodTemplate, Request, Sleep, Together
from stowplan.runtime.points.waiting_pods import PermitVerdict, WaitingPodEntry


class Ask(Request):
    def __init__(self, what: str) -> None:
        self.what = what


class Driver:
    """Tasks whose requests outside are answered by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers = Timers(lambda: self.now)
        self.asked: dict[str, Ask] = {}
        self.tasks = Tasks(self.timers, self._hand_out)
        self.told: list[str] = []

    def _hand_out(self, request: Request) -> None:
        assert isinstance(request, Ask)
        self.asked[request.what] = request

    def answer(self, what: str, answer: Any) -> None:
        self.asked.pop(what).on_answer(answer)

    async def ask(self, *questions: str) -> str:
        """One question after the other; what came of them, in a row."""
        told = []
        for question in questions:
            try:
                told.append(str(await Ask(question)))
            except CancelledError as cause:
                told.append(f"<{cause}>")
                break
        return " ".join(told)

    async def keep(self, *questions: str) -> None:
        self.told.append(await self.ask(*questions))


@pytest.fixture
def driver() -> Iterator[Driver]:
    made = Driver()
    yield made
    assert not made.tasks._together


def test_a_task_goes_on_with_each_answer(driver: Driver) -> None:
    ends: list[Any] = []
    task = driver.tasks.start(driver.ask("a", "b"), ends.append)
    assert task.waits
    driver.answer("a", 1)
    assert (ends, list(driver.asked)) == ([], ["b"])
    driver.answer("b", 2)
    assert ends == ["1 2"]
    assert not task.waits


def test_one_that_waits_for_nothing_ends_at_once(driver: Driver) -> None:
    ends: list[Any] = []
    assert not driver.tasks.start(driver.ask(), ends.append).waits
    assert ends == [""]


def test_sleep_is_answered_by_the_timers(driver: Driver) -> None:
    async def nap() -> None:
        await Sleep(2.0)
        driver.told.append("awake")

    driver.tasks.start(nap())
    driver.now = 1.9
    driver.timers.run_due()
    assert driver.told == []
    driver.now = 2.0
    driver.timers.run_due()
    assert driver.told == ["awake"]


@pytest.mark.parametrize("early", [True, False])
def test_a_verdict_is_awaited(driver: Driver, early: bool) -> None:
    template = PodTemplate("", {}, api.PodSpec(), None, {}, (0, 0))
    waiting = WaitingPodEntry(Pod(template, "p", "u", {}), ["x"])

    async def wait() -> None:
        driver.told.append(repr(await PermitVerdict(waiting)))

    if early:
        waiting.allow("x")
    driver.tasks.start(wait())
    if not early:
        assert driver.told == []
        waiting.reject("x", "no")
    assert driver.told == (["None"] if early else ["<Unschedulable by x: no>"])


class TestCancel:
    def test_wakes_where_it_waits(self, driver: Driver) -> None:
        task = driver.tasks.start(driver.keep("a", "b"))
        assert task.cancel("enough")
        assert driver.told == ["<enough>"]

    def test_an_answer_that_comes_later_is_ignored(self, driver: Driver) -> None:
        task = driver.tasks.start(driver.keep("a"))
        task.cancel("enough")
        driver.answer("a", 1)
        assert driver.told == ["<enough>"]

    def test_does_nothing_to_one_that_has_ended(self, driver: Driver) -> None:
        task = driver.tasks.start(driver.keep("a"))
        driver.answer("a", 1)
        assert not task.cancel("enough")
        assert driver.told == ["1"]

    def test_what_it_does_about_it_may_take_time(self, driver: Driver) -> None:
        async def stubborn() -> None:
            try:
                await Ask("a")
            except CancelledError:
                driver.told.append(str(await Ask("b")))

        task = driver.tasks.start(stubborn())
        task.cancel("enough")
        assert task.waits
        driver.answer("b", 2)
        assert driver.told == ["2"]


class TestTogether:
    @staticmethod
    async def all_of(driver: Driver, *members: Any, **options: Any) -> None:
        driver.told.append(str(await Together(list(members), **options)))

    def test_results_come_in_order(self, driver: Driver) -> None:
        driver.tasks.start(self.all_of(driver, driver.ask("a"), driver.ask(), driver.ask("b", "c")))
        driver.answer("b", 2)
        driver.answer("c", 3)
        assert driver.told == []
        driver.answer("a", 1)
        assert driver.told == ["['1', '', '2 3']"]

    def test_of_nobody(self, driver: Driver) -> None:
        driver.tasks.start(self.all_of(driver))
        assert driver.told == ["[]"]

    def test_one_that_fails_stops_the_others(self, driver: Driver) -> None:
        members = (driver.keep("a"), driver.ask("b"), driver.keep("c"))
        driver.tasks.start(self.all_of(driver, *members, failed=lambda r: r == "bad", cause="sibling"))
        driver.answer("b", "bad")
        assert driver.told == ["<sibling>", "<sibling>", "[None, 'bad', None]"]

    def test_one_that_fails_at_once_keeps_the_rest_from_starting(self, driver: Driver) -> None:
        members = (driver.keep("a"), driver.ask(), driver.keep("c"))
        driver.tasks.start(self.all_of(driver, *members, failed=lambda r: r == "", cause="sibling"))
        assert driver.told == ["<sibling>", "[None, '', None]"]
        assert "c" not in driver.asked

    def test_the_first_failure_is_the_one_that_is_told(self, driver: Driver) -> None:
        members = (driver.ask("a"), driver.ask("b"))
        driver.tasks.start(self.all_of(driver, *members, failed=lambda r: r is not None, cause="sibling"))
        driver.answer("b", "first")
        assert driver.told == ["[None, 'first']"]

    def test_cancelling_who_waits_for_them_cancels_them(self, driver: Driver) -> None:
        task = driver.tasks.start(self.all_of(driver, driver.ask("a"), driver.ask("b", "c")))
        driver.answer("b", 2)
        assert task.cancel("enough")
        assert driver.told == ["['<enough>', '2 <enough>']"]
        assert not task.waits
