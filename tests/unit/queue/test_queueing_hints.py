from __future__ import annotations

from asyncio import CancelledError
from typing import Any

import pytest
from tests.unit.queue.fakes import NODE_ADD, NODE_LABEL, PV_ADD, make_pod

from stowplan.framework import ALL_EVENTS, Action, ClusterEvent, EventResource, Pod, QueuedPodInfo, QueueingHint, on
from stowplan.queue import QueueingHintMap, QueueingStrategy
from stowplan.queue.cluster_events import FORCE_ACTIVATE, UNSCHEDULABLE_TIMEOUT

NODE_TAINT = ClusterEvent(EventResource.Node, Action.UpdateNodeTaint)
Skip, AfterBackoff, Immediately = QueueingStrategy.Skip, QueueingStrategy.AfterBackoff, QueueingStrategy.Immediately


def never(pod: Pod, old: Any, new: Any) -> QueueingHint:
    return QueueingHint.QueueSkip


def broken(pod: Pod, old: Any, new: Any) -> QueueingHint:
    raise KeyError(new)


TABLE = QueueingHintMap(
    {
        "Always": (on(EventResource.Node, Action.Add),),
        "Never": (on(EventResource.Node, Action.Add | Action.UpdateNodeTaint, never),),
        "Broken": (on(EventResource.Node, Action.Add, broken),),
        "Twice": (on(EventResource.Node, Action.Add, never), on(EventResource.Node, Action.All)),
    }
)


def unit(*rejectors: str, pending: tuple[str, ...] = ()) -> QueuedPodInfo:
    return QueuedPodInfo(make_pod("p"), 0.0, unschedulable_plugins=set(rejectors), pending_plugins=set(pending))


@pytest.mark.parametrize(
    ("rejectors", "pending", "strategy"),
    [
        ((), (), AfterBackoff),
        (("Always",), (), AfterBackoff),
        (("Never",), (), Skip),
        (("Unknown",), (), Skip),
        (("Never", "Always"), (), AfterBackoff),
        (("Broken",), (), AfterBackoff),
        (("Twice",), (), AfterBackoff),
        ((), ("Always",), Immediately),
        ((), ("Never",), Skip),
        (("Always",), ("Never",), AfterBackoff),
        (("Never",), ("Always",), Immediately),
        (("Always",), ("Twice",), Immediately),
        (("Always",), ("Broken",), Immediately),
    ],
)
def test_strategies(rejectors: tuple[str, ...], pending: tuple[str, ...], strategy: QueueingStrategy) -> None:
    assert TABLE.worth_retrying(unit(*rejectors, pending=pending), NODE_ADD, None, None) is strategy


@pytest.mark.parametrize(
    ("event", "new", "strategy"),
    [
        (UNSCHEDULABLE_TIMEOUT, None, AfterBackoff),
        (FORCE_ACTIVATE, make_pod("p"), AfterBackoff),
        (FORCE_ACTIVATE, make_pod("q"), Skip),
        (FORCE_ACTIVATE, "no pod", Skip),
    ],
)
def test_wildcards_are_for_all_or_for_one_pod(event: ClusterEvent, new: Any, strategy: QueueingStrategy) -> None:
    assert TABLE.worth_retrying(unit("Never", pending=("Always",)), event, None, new) is strategy


def test_hints_are_not_asked_about_large_pods() -> None:
    large = make_pod("p", nodeSelector={f"key-{number}": "value" for number in range(2_000)})
    assert large.template.large
    for rejector, strategy in (("Never", AfterBackoff), ("Broken", AfterBackoff), ("Unknown", Skip)):
        info = QueuedPodInfo(large, 0.0, unschedulable_plugins={rejector})
        assert TABLE.worth_retrying(info, NODE_ADD, None, None) is strategy


def test_a_hint_that_fails_is_told(caplog: pytest.LogCaptureFixture) -> None:
    TABLE.worth_retrying(unit("Broken"), NODE_ADD, None, "node")
    (message,) = caplog.messages
    assert message.startswith("QueueingHintFn returns error: ")
    assert message.endswith(", plugin=Broken, pod=default/p)")


def test_hints_for_one_event_are_reported_together() -> None:
    reported: list[tuple[str, str, str, float, int]] = []
    times = iter((10.0, 13.0))
    registered = {
        "Never": (on(EventResource.Node, Action.Add, never),),
        "Broken": (on(EventResource.Node, Action.Add, broken),),
    }
    table = QueueingHintMap(registered, lambda *hint: reported.append(hint), lambda: next(times))
    pods = [unit("Never"), unit("Never", "Broken"), unit("Other"), unit()]
    assert table.strategies(pods, NODE_ADD, None, None) == [Skip, AfterBackoff, Skip, AfterBackoff]
    assert reported == [("Never", "NodeAdd", "QueueSkip", 1.0, 2), ("Broken", "NodeAdd", "Error", 1.0, 1)]


@pytest.mark.parametrize("problem", [SystemExit(3), CancelledError("mine"), GeneratorExit()], ids=type)
def test_a_hint_that_exits_is_a_failed_hint(problem: BaseException, caplog: pytest.LogCaptureFixture) -> None:
    def leave(pod: Pod, old: Any, new: Any) -> QueueingHint:
        raise problem

    table = QueueingHintMap({"Leaving": (on(EventResource.Node, Action.Add, leave),)})
    assert table.worth_retrying(unit("Leaving"), NODE_ADD, None, "node") is AfterBackoff
    assert caplog.messages[0].startswith("QueueingHintFn returns error: ")


def test_plugins_are_asked_in_order_and_no_longer_than_needed() -> None:
    asked: list[str] = []

    def asking(name: str, hint: QueueingHint) -> Any:
        def ask(pod: Pod, old: Any, new: Any) -> QueueingHint:
            asked.append(name)
            return hint

        return (on(EventResource.Node, Action.Add, ask),)

    answers = {"a": QueueingHint.QueueSkip, "b": QueueingHint.Queue, "c": QueueingHint.Queue, "d": QueueingHint.Queue}
    table = QueueingHintMap({name: asking(name, hint) for name, hint in answers.items()})
    table.worth_retrying(unit("d", "c", "b", "a"), NODE_ADD, None, None)
    assert asked == ["a", "b"]
    asked.clear()
    table.worth_retrying(unit("d", "c", "b", "a", pending=("d",)), NODE_ADD, None, None)
    assert asked == ["a", "b", "d"]


@pytest.mark.parametrize(
    ("registered", "heard"),
    [
        ((on(EventResource.Node, Action.Add),), True),
        ((on(EventResource.Node, Action.Add, never),), True),
        ((on(EventResource.Node, Action.Add | Action.UpdateNodeLabel),), True),
        ((on(EventResource.Node, Action.UpdateNodeLabel),), False),
        ((on(EventResource.Pod, Action.Add),), False),
        ((), False),
    ],
)
def test_who_hears_of_new_nodes_hears_of_taints(registered: Any, heard: bool) -> None:
    table = QueueingHintMap({"Plugin": registered})
    assert table.is_registered("Plugin", NODE_TAINT) is heard
    expected = AfterBackoff if heard else Skip
    assert table.worth_retrying(unit("Plugin"), NODE_TAINT, None, None) is expected


def test_who_asks_for_taints_keeps_the_own_hint() -> None:
    separate = (on(EventResource.Node, Action.Add), on(EventResource.Node, Action.UpdateNodeTaint, never))
    table = QueueingHintMap({"Plugin": separate})
    assert table.worth_retrying(unit("Never"), NODE_TAINT, None, None) is Skip
    assert table.worth_retrying(unit("Plugin"), NODE_TAINT, None, None) is Skip
    assert TABLE.worth_retrying(unit("Never"), NODE_TAINT, None, None) is Skip


def test_listeners() -> None:
    assert [name for name, _ in TABLE.registered_for(NODE_ADD)] == ["Always", "Never", "Broken", "Twice", "Twice"]
    assert [name for name, _ in TABLE.registered_for(NODE_LABEL)] == ["Twice"]
    assert TABLE.registered_for(PV_ADD) == ()
    assert not TABLE.is_registered("Always", PV_ADD)


@pytest.mark.parametrize("resource", [registered.event.resource for registered in ALL_EVENTS])
@pytest.mark.parametrize("action", [Action.Add, Action.Update, Action.Delete])
def test_whoever_does_not_say_what_matters_is_woken_by_all_the_usual_events(resource: str, action: Action) -> None:
    table = QueueingHintMap({"Extender": ALL_EVENTS})
    assert table.worth_retrying(unit("Extender"), ClusterEvent(resource, action), None, None) is AfterBackoff
