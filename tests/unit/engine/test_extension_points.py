"""Every extension point in its turn, and what its answer does: kube-scheduler's order, codes and texts."""

from __future__ import annotations

from typing import Any

import pytest
from tests.builders import node, pod
from tests.builders.engine_host import REFUSED, Host
from tests.unit.engine.recorder import Recorded, Recorder, configuration, recorder

from stowplan.config import IN_TREE_PLUGINS, from_builtins
from stowplan.config.releases import RELEASES
from stowplan.framework import (
    PODS_TO_ACTIVATE,
    Bind,
    Call,
    Code,
    PatchStatus,
    Pod,
    Status,
    accept,
    error,
    pending,
    reject,
    skip,
    wait,
)

BOUND = ["bind a", "post_bind a"]
TO_THE_END = ["pre_bind_pre_flight a", "pre_bind a", *BOUND]

NO_WAIT = "returned wait(), which only permit may return: return reject(reason) instead"


def patches(host: Host, name: str) -> list[tuple[str, str | None]]:
    """(message of the condition, nominated node) of the status patches of a pod."""
    told = [each for each in host.done if isinstance(each, PatchStatus) and each.pod.name == name]
    return [(each.condition.message if each.condition else "", each.nominated_node_name) for each in told]


def test_a_pod_that_fits_goes_through_all_points_in_order() -> None:
    host = Recorded(node("a"), node("b", labels={"fits": "less"}), pod("p"), answers={"score": 50})
    host.schedule()
    on = host.node_of("p")
    assert host.told == [
        "events_to_register",
        "pre_enqueue",
        "pre_filter",
        "filter a",
        "filter b",
        "pre_score",
        "score a",
        "score b",
        "normalize_score",
        *(f"{point} {on}" for point in ("reserve", "permit", "pre_bind_pre_flight", "pre_bind", "bind", "post_bind")),
    ]
    assert host.events() == [f"Scheduled: Successfully assigned default/p to {on}"]
    assert patches(host, "p") == [("", on)]


@pytest.mark.parametrize("version", ["1.33", "1.34", "1.35"])
def test_servers_that_do_not_clear_it_are_not_sent_the_node_of_a_slow_binding(version: str) -> None:
    """An API server before v1.35 leaves nominatedNodeName on bound pods."""
    names = {*IN_TREE_PLUGINS, "Recorder"}
    config = from_builtins(configuration("Recorder"), "config", names, RELEASES[version])
    host = Host(node("a"), pod("p"), config=config, plugins={"Recorder": recorder("Recorder", [])})
    host.schedule()
    assert host.node_of("p") == "a"
    assert patches(host, "p") == ([("", "a")] if version == "1.35" else [])


def test_a_node_that_is_alone_gets_no_scores() -> None:
    host = Recorded(node("a"), pod("p"))
    host.schedule()
    assert host.told[3:] == ["filter a", "reserve a", "permit a", *TO_THE_END]


def test_less_sorts_the_queue() -> None:
    host = Recorded(node("a"), pod("p"), pod("r"), pod("q"), sorts=True)
    assert [unit.pod.name for unit in host.state.queue.active] == ["r", "q", "p"]
    assert "less" in host.told


def test_pods_are_added_and_removed_where_preemption_tries_what_would_help() -> None:
    host = Recorded(node("a", cpu=2), pod("low", "a", requests={"cpu": 2}))
    host.put(pod("high", requests={"cpu": 1}, priority=9))
    host.schedule()
    dry_run = host.told[host.told.index("remove_pod low") :]
    assert dry_run[:5] == ["remove_pod low", "filter a", "add_pod low", "remove_pod low", "pre_enqueue"]
    assert host.world.get(type(host.pod("high")), "low", "default") is None


def test_pods_that_are_nominated_are_added_for_those_that_come_after() -> None:
    refuses = {"filter": lambda asked: reject("no") if asked.name == "first" else None}
    host = Recorded(node("a", cpu=2), answers=refuses)
    host.put(pod("first", nominated="a", priority=9, requests={"cpu": 1}, preemptionPolicy="Never"))
    host.schedule()
    host.told.clear()
    host.put(pod("second", requests={"cpu": 1}))
    host.schedule()
    with_and_without = host.told[host.told.index("add_pod first") :]
    assert with_and_without[:4] == ["add_pod first", "filter a", "filter a", "reserve a"]
    assert host.node_of("second") == "a"


class TestPermit:
    def test_denied(self) -> None:
        host = Recorded(node("a"), pod("p"), answers={"permit": reject("no permit")})
        host.schedule()
        text = "0/1 nodes are available: 1 no permit."
        assert host.since_reserve() == ["reserve a", "permit a", "unreserve a"]
        assert host.condition("p") == ("False", "Unschedulable", text)
        assert host.events() == [f"FailedScheduling: {text}"]
        assert host.place("p") == "unschedulable"
        assert host.unit("p").unschedulable_plugins == {"Recorder"}
        assert not host.assumed

    @pytest.mark.parametrize(
        ("answer", "text"),
        [
            (reject(), "0/1 nodes are available:"),
            (reject("b", "a"), "0/1 nodes are available: 1 a, 1 b."),
            (reject("b", "b"), "0/1 nodes are available: 2 b."),
            (pending("soon"), "0/1 nodes are available: 1 soon."),
        ],
    )
    def test_texts_of_rejections(self, answer: Status, text: str) -> None:
        host = Recorded(node("a"), pod("p"), answers={"permit": answer})
        host.schedule()
        assert host.condition("p") == ("False", "Unschedulable", text)
        rejectors = host.unit("p").unschedulable_plugins, host.unit("p").pending_plugins
        assert rejectors == ((set(), {"Recorder"}) if answer.code is Code.Pending else ({"Recorder"}, set()))

    def test_an_error(self) -> None:
        host = Recorded(node("a"), pod("p"), answers={"permit": error("no line")})
        host.schedule()
        assert host.condition("p") == ("False", "SchedulerError", 'running Permit plugin "Recorder": no line')
        assert host.place("p") == "error_backoff"

    def test_one_that_waits_is_nominated_and_in_flight(self) -> None:
        host = Recorded(node("a"), pod("p"), answers={"permit": wait(5)})
        host.schedule()
        assert host.since_reserve() == ["reserve a", "permit a", "pre_bind_pre_flight a"]
        assert patches(host, "p") == [("", "a")]
        assert host.pod("p").status.nominated_node_name == "a"
        assert host.state.queue.in_flight("default/p")
        assert (host.assumed, host.place("p")) == ({"p"}, "")
        (waiting,) = host.engine.waiting_pods
        assert (waiting.pod.name, waiting.pending_plugins) == ("p", ["Recorder"])

    def test_allowed_it_goes_on(self) -> None:
        host = Recorded(node("a"), pod("p"), answers={"permit": wait(5)})
        host.schedule()
        host.engine.waiting_pods.get("default/p").allow("Recorder")
        host.settle()
        assert host.since_reserve() == ["reserve a", "permit a", *TO_THE_END]
        assert host.node_of("p") == "a"
        assert (len(host.engine.waiting_pods), host.state.timers.next_deadline()) == (0, None)

    def test_a_plugin_allows_it_through_its_handle(self) -> None:
        def permit(asked: Pod) -> Status | None:
            if asked.name == "p":
                return wait(60)
            for waiting in plugin.handle.waiting_pods():
                waiting.allow("Recorder")
            return accept()

        host = Recorded(node("a"), pod("p"), answers={"permit": permit})
        plugin = host.engine.profiles["default-scheduler"].points["permit"][0]
        host.schedule()
        assert host.node_of("p") == ""
        assert plugin.handle.waiting_pod("default/p") is host.engine.waiting_pods.get("default/p")
        host.put(pod("q"))
        host.schedule()
        assert (host.node_of("p"), host.node_of("q")) == ("a", "a")

    def test_time_is_up(self) -> None:
        host = Recorded(node("a"), pod("p"), answers={"permit": wait(5)})
        host.schedule()
        host.advance(4.9)
        assert host.assumed == {"p"}
        host.advance(0.1)
        text = "0/1 nodes are available: 1 rejected due to timeout after waiting 5s at plugin Recorder."
        assert host.since_reserve()[-1] == "unreserve a"
        assert host.condition("p") == ("False", "Unschedulable", text)
        assert host.events() == [f"FailedScheduling: {text}"]
        assert host.place("p") == "unschedulable"
        assert host.pod("p").status.nominated_node_name == ""
        assert not host.assumed

    @pytest.mark.parametrize(
        ("asked", "granted"), [(3600, "15m0s"), (90.5, "1m30.5s"), (0.25, "250ms"), (0, "0s"), (-1, "-1s")]
    )
    def test_how_long_a_plugin_may_ask_for(self, asked: float, granted: str) -> None:
        host = Recorded(node("a"), pod("p"), answers={"permit": wait(asked)})
        host.schedule()
        host.advance(901)
        assert f"rejected due to timeout after waiting {granted} at plugin Recorder" in host.events()[0]

    def test_rejected_while_it_waits(self) -> None:
        host = Recorded(node("a"), pod("p"), answers={"permit": wait(5)})
        host.schedule()
        waiting = host.engine.waiting_pods.get("default/p")
        assert waiting.reject("Recorder", "not today")
        assert not waiting.reject("Recorder", "nor tomorrow")
        host.settle()
        assert host.condition("p")[2] == "0/1 nodes are available: 1 not today."
        assert host.place("p") == "unschedulable"
        assert host.unit("p").unschedulable_plugins == {"Recorder"}

    def test_all_who_wait_have_to_allow_it(self) -> None:
        told: list[str] = []
        plugins = {name: recorder(name, told, permit=wait(seconds)) for name, seconds in {"One": 5, "Two": 9}.items()}
        host = Host(node("a"), pod("p"), config=configuration("One", "Two"), plugins=plugins)
        host.schedule()
        waiting = host.engine.waiting_pods.get("default/p")
        waiting.allow("One")
        host.advance(6)
        assert (host.assumed, waiting.pending_plugins) == ({"p"}, ["Two"])
        waiting.allow("Two")
        host.settle()
        assert host.node_of("p") == "a"

    def test_who_rejects_ends_the_round(self) -> None:
        told: list[str] = []
        plugins = {"One": recorder("One", told, permit=wait(5)), "Two": recorder("Two", told, permit=reject("no"))}
        plugins["Three"] = recorder("Three", told)
        host = Host(node("a"), pod("p"), config=configuration(*plugins), plugins=plugins)
        host.schedule()
        assert told.count("permit a") == 2
        assert (len(host.engine.waiting_pods), host.place("p")) == (0, "unschedulable")


class TestReserve:
    @pytest.mark.parametrize(
        ("answer", "reason", "text", "place"),
        [
            (reject("taken"), "Unschedulable", "0/1 nodes are available: 1 taken.", "unschedulable"),
            (error("broken"), "SchedulerError", 'running Reserve plugin "Recorder": broken', "error_backoff"),
            (wait(3), "SchedulerError", f'running Reserve plugin "Recorder": reserve {NO_WAIT}', "error_backoff"),
        ],
    )
    def test_failures(self, answer: Status, reason: str, text: str, place: str) -> None:
        host = Recorded(node("a"), pod("p"), answers={"reserve": answer})
        host.schedule()
        assert host.since_reserve() == ["reserve a", "unreserve a"]
        assert host.condition("p") == ("False", reason, text)
        assert (host.place("p"), host.assumed) == (place, set())

    def test_all_unreserve_in_reverse_also_those_that_were_not_asked(self) -> None:
        order: list[str] = []

        def named(name: str, **answers: Any) -> type[Recorder]:
            def unreserve(pod: Pod) -> None:
                order.append(f"-{name}")

            def reserve(pod: Pod) -> Status | None:
                order.append(name)
                return answers.get("reserve")

            return recorder(name, [], reserve=reserve, unreserve=unreserve)

        plugins = {"One": named("One"), "Two": named("Two", reserve=reject("no")), "Three": named("Three")}
        host = Host(node("a"), pod("p"), config=configuration(*plugins), plugins=plugins)
        host.schedule()
        assert order == ["One", "Two", "-Three", "-Two", "-One"]


class TestPreBind:
    @pytest.mark.parametrize(
        ("answer", "reason", "text"),
        [
            (error("boom"), "SchedulerError", 'running PreBind plugin "Recorder": boom'),
            (reject("nope"), "Unschedulable", "nope"),
            (Status(Code.Skip, "hm"), "SchedulerError", 'running PreBind plugin "Recorder": hm'),
        ],
    )
    def test_failures_are_never_verdicts(self, answer: Status, reason: str, text: str) -> None:
        """Whatever it says, the pod is retried after a pause, and not when something changes."""
        host = Recorded(node("a"), pod("p"), answers={"pre_bind": answer})
        host.schedule()
        assert host.since_reserve()[-3:] == ["pre_bind_pre_flight a", "pre_bind a", "unreserve a"]
        assert host.condition("p") == ("False", reason, text)
        assert host.events() == [f"FailedScheduling: {text}"]
        assert (host.place("p"), host.assumed) == ("error_backoff", set())
        assert host.unit("p").unschedulable_plugins == set()
        assert host.pod("p").status.nominated_node_name == ""

    @pytest.mark.parametrize(
        ("answer", "text"),
        [
            (error("boom"), 'running PreBindPreFlight "Recorder": boom'),
            (
                reject("nope"),
                'PreBindPreFlight Recorder returned "Unschedulable", which is unsupported. '
                "It is supposed to return Success, Skip, or Error status",
            ),
        ],
    )
    @pytest.mark.parametrize("permit", [None, wait(5)])
    def test_pre_flight_may_not_refuse(self, permit: Status | None, answer: Status, text: str) -> None:
        host = Recorded(node("a"), pod("p"), answers={"pre_bind_pre_flight": answer, "permit": permit})
        host.schedule()
        assert "pre_bind a" not in host.told
        assert host.condition("p") == ("False", "SchedulerError", text)
        assert (host.place("p"), len(host.engine.waiting_pods)) == ("error_backoff", 0)
        assert host.state.timers.next_deadline() is None

    def test_who_skips_the_flight_does_not_bind_nor_take_time(self) -> None:
        host = Recorded(node("a"), pod("p"), answers={"pre_bind_pre_flight": skip()})
        host.schedule()
        assert host.since_reserve()[2:] == ["pre_bind_pre_flight a", *BOUND]
        assert patches(host, "p") == []


class TestBind:
    def test_the_first_that_does_not_skip_binds(self) -> None:
        host = Recorded(node("a"), pod("p"), answers={"bind": accept()})
        host.schedule()
        assert host.since_reserve()[-2:] == BOUND
        assert not [each for each in host.done if isinstance(each, Bind)]
        assert host.events() == ["Scheduled: Successfully assigned default/p to a"]
        assert host.assumed == {"p"}, "until a watch tells that it is bound"

    @pytest.mark.parametrize(
        ("answer", "reason", "text"),
        [
            (error("no line"), "SchedulerError", 'running Bind plugin "Recorder": no line'),
            (reject("too late"), "Unschedulable", "too late"),
        ],
    )
    def test_failures(self, answer: Status, reason: str, text: str) -> None:
        host = Recorded(node("a"), pod("p"), answers={"bind": answer})
        host.schedule()
        assert host.since_reserve()[-2:] == ["bind a", "unreserve a"]
        assert host.condition("p") == ("False", reason, text)
        assert (host.place("p"), host.unit("p").consecutive_errors) == ("error_backoff", 1)

    def test_the_default_binder_fails(self) -> None:
        host = Recorded(node("a"), pod("p"))
        host.schedule(Bind)
        host.answer(Bind, REFUSED)
        host.settle()
        text = 'running Bind plugin "DefaultBinder": the server says no'
        assert host.condition("p") == ("False", "SchedulerError", text)
        assert host.since_reserve()[-1] == "unreserve a"

    def test_where_all_skip_nobody_is_told(self) -> None:
        """It has not failed, only nobody bound it; kube-scheduler has no words for that either."""
        told: list[str] = []
        config = configuration("Recorder")
        del config["profiles"][0]["plugins"]["bind"]["enabled"][-1]
        host = Host(node("a"), pod("p"), config=config, plugins={"Recorder": recorder("Recorder", told)})
        host.schedule()
        assert (host.place("p"), host.events()) == ("error_backoff", [])
        assert told[-2:] == ["unreserve a", "pre_enqueue"]


class TestActivation:
    """Pods that a plugin writes into the state are tried at once, although they wait for something else."""

    @pytest.mark.parametrize(("point", "early"), [("reserve", True), ("permit", True), ("post_bind", False)])
    def test_after_the_cycle_and_after_the_binding(self, point: str, early: bool) -> None:
        def wake(asked: Pod) -> None:
            state = plugin.state_of[asked.name]
            state.read(PODS_TO_ACTIVATE)["default/other"] = host.engine.pending["default/other"].pod

        host = Recorded(node("a", cpu=2), pod("other", requests={"cpu": 4}), answers={point: wake})
        plugin: Recorder = host.engine.profiles["default-scheduler"].points["reserve"][-1].inner  # type: ignore[attr-defined]
        host.schedule()
        assert host.place("other") == "unschedulable"
        host.put(pod("p"))
        assert host.engine.schedule_one()
        host.settle(Bind)
        assert host.place("other") == ("active" if early else "unschedulable")
        host.settle()
        assert host.place("other") == "active"

    @pytest.mark.parametrize("point", ["reserve", "permit"])
    def test_not_after_a_failure(self, point: str) -> None:
        def wake_and_fail(asked: Pod) -> Status | None:
            if asked.name == "p":
                state = plugin.state_of[asked.name]
                state.read(PODS_TO_ACTIVATE)["default/other"] = host.engine.pending["default/other"].pod
            return reject("no")

        host = Recorded(node("a", cpu=2), pod("other", requests={"cpu": 4}), answers={point: wake_and_fail})
        plugin: Recorder = host.engine.profiles["default-scheduler"].points["reserve"][-1].inner  # type: ignore[attr-defined]
        host.schedule()
        host.put(pod("p"))
        assert host.engine.schedule_one()
        host.settle()
        assert host.place("other") == "unschedulable"


def test_two_profiles_in_one_process() -> None:
    """Each pod is scheduled by the profile that it names; the queue is one for all."""
    told: dict[str, list[str]] = {"One": [], "Two": []}
    profiles = [{**configuration(name)["profiles"][0], "schedulerName": name.lower()} for name in told]
    config = from_builtins({**configuration("One"), "profiles": profiles}, "config", {*IN_TREE_PLUGINS, *told})
    host = Host(node("a"), config=config, plugins={name: recorder(name, calls) for name, calls in told.items()})
    host.put(pod("p", schedulerName="one"), pod("q", schedulerName="two"), pod("r", schedulerName="three"))
    host.schedule()
    assert [host.node_of(name) for name in "pqr"] == ["a", "a", ""]
    assert told["One"] == told["Two"]
    assert host.engine.pending == {}


def test_calls_of_plugins_are_handed_out_one_by_one() -> None:
    host = Recorded(node("a"), pod("p"))
    host.engine.schedule_one()
    for point in ("permit", "pre_bind", "bind"):
        call = host.next_open(Call)
        assert (call.plugin, call.point) == ("Recorder", point)
        host.do(call)
        host.take()
    assert isinstance(host.next_open(Bind), Bind)
