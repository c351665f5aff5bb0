"""The points after a node was chosen, one by one; the engine's tests have them in their order."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from tests.builders import World, only, pod, profile_config

from stowplan.engine.tasks import Tasks
from stowplan.engine.timers import Timers
from stowplan.framework import CancelledError, Code, CycleState, Plugin, Pod, Request, Status, error, reject, skip, wait
from stowplan.runtime.points import binding_points
from stowplan.runtime.points.binding_points import BindingPoints

POINTS = ("reserve", "unreserve", "permit", "pre_bind_pre_flight", "pre_bind", "bind", "post_bind")


class Ask(Request):
    """Something to wait for."""


def acting(label: str, told: list[str], parallel: bool = False, **answers: Any) -> Plugin:
    """A plugin that notes its calls and answers so; "wait" waits for something first."""

    def method(point: str) -> Callable[..., Any]:
        def act(self: Plugin, state: CycleState, pod: Pod, node_name: str) -> Any:
            told.append(f"{point} {label}")
            answer = answers.get(point)
            return waiting(point) if answer == "wait" else answer

        return act

    async def waiting(point: str) -> Status | None:
        try:
            answer: Status | None = await Ask()
        except CancelledError:
            told.append(f"{point} {label} cancelled")
            raise
        return answer

    kind = type(label, (Plugin,), {"name": label, "parallel_pre_bind": parallel, **{p: method(p) for p in POINTS}})
    made: Plugin = kind(None, None)
    return made


class Driver:
    """Runs one coroutine, whose requests are answered by hand."""

    def __init__(self, steps: Coroutine[Request, Any, Any]) -> None:
        self.open: list[Request] = []
        self.results: list[Any] = []
        self.task = Tasks(Timers(lambda: 0.0), self.open.append).start(steps, self.results.append)

    @property
    def result(self) -> Any:
        (result,) = self.results
        return result


ARGS = (CycleState(), World().pod(pod("p")), "n")


def run(steps: Coroutine[Request, Any, Any]) -> Any:
    return Driver(steps).result


class TestReserve:
    @pytest.mark.parametrize(
        ("answers", "status", "asked"),
        [
            ([None, Status(Code.Success)], None, "AB"),
            ([reject("no"), None], Status(Code.Unschedulable, "no", plugin="A"), "A"),
            ([None, error("boom")], Status(Code.Error, 'running Reserve plugin "B": boom', plugin="B"), "AB"),
            ([skip()], Status(Code.Error, 'running Reserve plugin "A": ', plugin="A"), "A"),
        ],
    )
    def test_the_first_failure_ends_it(self, answers: list[Status | None], status: Status | None, asked: str) -> None:
        told: list[str] = []
        plugins = tuple(acting(label, told, reserve=answer) for label, answer in zip("AB", answers, strict=False))
        assert binding_points.run_until_failure("reserve", plugins, *ARGS) == status
        assert told == [f"reserve {label}" for label in asked]

    def test_unreserve_goes_backwards(self) -> None:
        told: list[str] = []
        binding_points.run_in_reverse("unreserve", tuple(acting(label, told) for label in "ABC"), *ARGS)
        assert told == ["unreserve C", "unreserve B", "unreserve A"]


class TestPermit:
    @pytest.mark.parametrize(
        ("answers", "outcome", "asked"),
        [
            ([None, None], (None, {}), "AB"),
            ([wait(3), None], (None, {"A": (3, "")}), "AB"),
            ([wait(3600), wait(1, "one more")], (None, {"A": (900, ""), "B": (1, "one more")}), "AB"),
            ([wait(3), reject("no")], (Status(Code.Unschedulable, "no", plugin="B"), {}), "AB"),
            ([reject("no"), wait(3)], (Status(Code.Unschedulable, "no", plugin="A"), {}), "A"),
            ([error("boom")], (Status(Code.Error, 'running Permit plugin "A": boom', plugin="A"), {}), "A"),
        ],
    )
    def test_answers(self, answers: list[Status | None], outcome: Any, asked: str) -> None:
        told: list[str] = []
        plugins = [acting(label, told, permit=answer) for label, answer in zip("AB", answers, strict=False)]
        assert run(binding_points.run_permit(plugins, *ARGS)) == outcome
        assert told == [f"permit {label}" for label in asked]


class TestPreFlight:
    @pytest.mark.parametrize(
        ("answers", "runs", "skipped"),
        [([], False, ""), ([None, skip()], True, "B"), ([skip(), skip()], False, "AB"), ([skip(), None], True, "A")],
    )
    def test_whether_any_pre_bind_runs(self, answers: list[Status | None], runs: bool, skipped: str) -> None:
        state = CycleState()
        plugins = [acting(x, [], pre_bind_pre_flight=answer) for x, answer in zip("AB", answers, strict=False)]
        assert binding_points.run_pre_flights(plugins, state, *ARGS[1:]) == (None, runs)
        assert state.skip_pre_bind == set(skipped)

    @pytest.mark.parametrize(
        ("answer", "text"),
        [
            (error("boom"), 'running PreBindPreFlight "A": boom'),
            (
                Status(Code.Wait),
                'PreBindPreFlight A returned "Wait", which is unsupported. '
                "It is supposed to return Success, Skip, or Error status",
            ),
        ],
    )
    def test_nothing_but_success_skip_and_error(self, answer: Status, text: str) -> None:
        plugins = [acting("A", [], pre_bind_pre_flight=answer), acting("B", [])]
        assert binding_points.run_pre_flights(plugins, *ARGS) == (Status(Code.Error, text, plugin="A"), False)


class TestPreBind:
    @staticmethod
    def driver(told: list[str], layout: str, skipped: str = "", **answers: Any) -> Driver:
        """Plugins by letter; a capital is one that may run beside others."""
        state = CycleState()
        state.skip_pre_bind = frozenset(skipped)
        plugins = [acting(x, told, x.isupper(), pre_bind=answers.get(x, "wait")) for x in layout]
        return Driver(binding_points.run_pre_bind(plugins, state, *ARGS[1:]))

    @pytest.mark.parametrize(
        ("layout", "skipped", "groups"),
        [
            ("AB", "", ["AB"]),
            ("ab", "", ["a", "b"]),
            ("ABcDE", "", ["AB", "c", "DE"]),
            ("ABcDE", "c", ["AB", "DE"]),
            ("ABCD", "B", ["ACD"]),
            ("ABCD", "A", ["BCD"]),
            ("Ab", "A", ["b"]),
            ("aB", "a", ["B"]),
            ("A", "A", []),
        ],
    )
    def test_neighbours_that_allow_it_run_side_by_side(self, layout: str, skipped: str, groups: list[str]) -> None:
        told: list[str] = []
        driver = self.driver(told, layout, skipped)
        for group in groups:
            assert told == [f"pre_bind {x}" for x in group]
            told.clear()
            waiting, driver.open[:] = list(driver.open), []
            for request in waiting:
                assert driver.results == []
                request.on_answer(None)
        assert driver.results == [None]

    @pytest.mark.parametrize(
        ("answer", "status"),
        [
            (error("boom"), Status(Code.Error, 'running PreBind plugin "B": boom', plugin="B")),
            (reject("no"), Status(Code.Unschedulable, "no", plugin="B")),
        ],
    )
    def test_one_failure_stops_its_siblings_and_all_that_follow(self, answer: Status, status: Status) -> None:
        told: list[str] = []
        driver = self.driver(told, "ABCd")
        driver.open[1].on_answer(answer)
        assert driver.result == status
        assert told[3:] == ["pre_bind A cancelled", "pre_bind C cancelled"]

    @pytest.mark.parametrize(("layout", "failed"), [("a", "a"), ("AB", "A")])
    def test_cancelled_from_outside(self, layout: str, failed: str) -> None:
        driver = self.driver([], layout)
        assert driver.task.cancel("preempted by X")
        text = f'running PreBind plugin "{failed}": preempted by X'
        assert driver.result == Status(Code.Error, text, plugin=failed)


class TestBind:
    @pytest.mark.parametrize(
        ("answers", "status", "asked"),
        [
            ([None, None], None, "A"),
            ([skip(), None], None, "AB"),
            ([skip(), skip()], Status(Code.Skip), "AB"),
            ([], Status(Code.Skip), ""),
            ([reject("no"), None], Status(Code.Unschedulable, "no", plugin="A"), "A"),
            ([skip(), error("boom")], Status(Code.Error, 'running Bind plugin "B": boom', plugin="B"), "AB"),
        ],
    )
    def test_the_first_that_does_not_skip(self, answers: list[Any], status: Status | None, asked: str) -> None:
        told: list[str] = []
        plugins = [acting(label, told, bind=answer) for label, answer in zip("AB", answers, strict=False)]
        assert run(binding_points.run_bind(plugins, *ARGS)) == status
        assert told == [f"bind {label}" for label in asked]

    def test_post_bind_asks_all(self) -> None:
        told: list[str] = []
        driver = Driver(
            binding_points.run_all("postBind", [acting("A", told, post_bind="wait"), acting("B", told)], *ARGS)
        )
        assert told == ["post_bind A"]
        driver.open[0].on_answer(error("ignored"))
        assert (told, driver.results) == (["post_bind A", "post_bind B"], [None])


class TestWhoIsConcerned:
    @pytest.mark.parametrize(
        ("spec", "pre_bind", "straight"),
        [
            ({}, [], True),
            ({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}, ["VolumeBinding"], False),
            ({"volumes": [{"name": "v", "emptyDir": {}}]}, [], True),
        ],
    )
    def test_by_the_pods_template(self, spec: dict[str, Any], pre_bind: list[str], straight: bool) -> None:
        world = World()
        late = world.profile.binding_points(world.pod(pod("p", **spec)).template)
        assert [plugin.name for plugin in late.pre_bind] == pre_bind
        assert late.straight is straight

    @pytest.mark.parametrize("point", ["permit", "preBind", "postBind", "bind"])
    def test_a_users_plugin_takes_the_long_way(self, point: str) -> None:
        method = {"preBind": "pre_bind", "postBind": "post_bind"}.get(point, point)
        kind = type("Mine", (Plugin,), {"name": "Mine", method: lambda *args: None})
        world = World(plugins={"Mine": kind})
        assert not BindingPoints.of(world.profile, world.pod(pod("p")).template).straight

    def test_so_does_a_profile_without_the_default_binder(self) -> None:
        kind = type("Mine", (Plugin,), {"name": "Mine", "bind": lambda *args: None})
        world = World(plugins={"Mine": kind}, config=profile_config(only("bind", "Mine")))
        late = BindingPoints.of(world.profile, world.pod(pod("p")).template)
        assert ([plugin.name for plugin in late.bind], late.straight) == (["Mine"], False)
