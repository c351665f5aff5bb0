"""Answering in time, whatever plugins do, and what is said before the first request."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest
from tests.builders import node, pod, until
from tests.unit.extender.handlers.handler_fakes import FakeClusterCache, Tiers, full, named, reply_json, tiers

from stowplan.api import LabelSelector, LabelSelectorRequirement
from stowplan.config.duration import Duration
from stowplan.errors import ConfigError, InputError, PluginError
from stowplan.extender import remaining
from stowplan.extender.handlers import GroupMember, Handlers
from stowplan.extender.policy import FailurePolicy, OperatorPolicy, PodSelection
from stowplan.framework import CycleState, NodeInfo, Plugin, Pod, PodGroupAssignments, PodGroupInfo, Status, reject


class Hanging(Plugin):
    """Hangs on pods that say so, until it is let go."""

    name = "hanging"
    let_go = threading.Event()

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        if pod.labels.get("hang"):
            self.let_go.wait(60)
        return reject("full") if node.name == "b" else None


@pytest.fixture
def hanging() -> type[Hanging]:
    class Fresh(Hanging):
        let_go = threading.Event()

    return Fresh


STUCK = pod("stuck", labels={"hang": "yes"})


def test_a_plugin_that_hangs_is_left_behind(hanging: type[Hanging]) -> None:
    handlers = Handlers([GroupMember(hanging)], OperatorPolicy(http_timeout=Duration.parse("0.3s")))
    nodes = [node("a"), node("b")]

    async def scene() -> None:
        reply = await handlers.answer("filter", full(*nodes, of=STUCK))
        assert not hanging.let_go.is_set()
        assert "no answer within" in reply_json(reply)["Error"]
        assert reply.facts.abandoned
        assert reply.facts.pod == "default/stuck"
        assert handlers.stuck == 0
        handlers.policy = OperatorPolicy(http_timeout=Duration.parse("60s"))
        for _ in range(3):
            after = await handlers.answer("filter", full(*nodes))
            assert reply_json(after)["FailedNodes"] == {"b": "full"}
        assert handlers.stuck == 1
        hanging.let_go.set()
        await until(lambda: not handlers.stuck)

    asyncio.run(scene())
    handlers.close()


def test_the_fallback_may_let_everything_pass(hanging: type[Hanging]) -> None:
    handlers = Handlers(
        [GroupMember(hanging)],
        OperatorPolicy(http_timeout=Duration.parse("0.2s"), failure_policy=FailurePolicy(filter="pass")),
    )
    reply = asyncio.run(handlers.answer("filter", full(node("a"), node("b"), of=STUCK)))
    assert len(reply_json(reply)["Nodes"]["items"]) == 2
    hanging.let_go.set()


def test_slow_plugins_are_broken_off_between_nodes_and_what_was_said_in_time_is_kept() -> None:
    asked: list[str] = []
    now = 0.0

    class Slow(Plugin):
        name = "slow"
        scope = "node"

        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
            nonlocal now
            now += 0.01
            asked.append(node.name)
            return None

    handlers = Handlers([GroupMember(Slow)], clock=lambda: now)
    request = full(*(node(f"n{number}") for number in range(200)))
    late = handlers.filter(request, deadline=1.0)
    assert "take too long" in reply_json(late)["Error"]
    in_time, asked[:] = asked[:64], []
    assert reply_json(handlers.filter(request))["Error"] == ""
    assert sorted(in_time + asked) == sorted(f"n{number}" for number in range(200))


def test_plugins_can_ask_how_much_time_is_left() -> None:
    seen: list[float | None] = []

    class Curious(Plugin):
        name = "curious"

        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
            seen.append(remaining())
            return None

    handlers = Handlers([GroupMember(Curious)], OperatorPolicy(http_timeout=Duration.parse("60.0s")))
    asyncio.run(handlers.answer("filter", full(node("a"))))
    handlers.filter(full(node("a")))
    assert seen[0] is not None
    assert 0 < seen[0] < 60
    assert seen[1] is None


@pytest.mark.parametrize(("timeout", "budget"), [("5s", 4.5), ("200ms", 0.15), ("50ms", 0.025), (None, None)])
def test_the_budget(timeout: str | None, budget: float | None) -> None:
    found = OperatorPolicy(http_timeout=timeout and Duration.parse(timeout)).budget
    assert found == (budget if budget is None else pytest.approx(budget))


def test_changes_wait_for_plugins_and_are_made_in_order(hanging: type[Hanging]) -> None:
    cache = FakeClusterCache(*tiers(a="gold"))
    handlers = Handlers(
        [GroupMember(hanging)], OperatorPolicy(http_timeout=Duration.parse("0.2s")), cluster_cache=cache
    )
    done: list[int] = []

    async def scene() -> None:
        handlers.apply(lambda: done.append(1))
        assert done == [1]
        await handlers.answer("filter", named("a", of=STUCK))
        handlers.apply(lambda: done.append(2))
        handlers.apply(lambda: 1 / 0)  # type: ignore[arg-type]
        handlers.apply(lambda: done.append(3))
        assert done == [1]
        hanging.let_go.set()
        await until(lambda: len(done) == 3)

    asyncio.run(scene())
    assert done == [1, 2, 3]


def test_many_at_once() -> None:
    handlers = Handlers([GroupMember(Tiers)])
    request = full(*tiers(a="gold", b="silver"))

    async def scene() -> None:
        replies = await asyncio.gather(*(handlers.answer("filter", request) for _ in range(40)))
        assert {reply.body for reply in replies} == {replies[0].body}
        assert reply_json(replies[0])["FailedNodes"] == {"b": "full"}

    asyncio.run(scene())


def test_which_verbs_are_served() -> None:
    assert Handlers([GroupMember(Tiers)]).serves == {"filter", "prioritize"}


def test_points_that_are_never_called_are_named_once() -> None:
    class Much(Tiers):
        def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
            return None

        def permit(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
            return None

        def score_placement(self, state: CycleState, group: PodGroupInfo, assignments: PodGroupAssignments) -> int:
            return 0

    (warning,) = Handlers([GroupMember(Much)]).warnings
    assert 'reserve, permit, placementScore of "tiers"' in warning
    assert Handlers([GroupMember(Tiers)]).warnings == ()


class ReadsPods(Plugin):
    name = "reads-pods"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return reject("crowded") if any(other.priority for other in node.pods.values()) else None


class Declares(Tiers):
    scope = "node+pods"


class Looks(Tiers):
    reads = ("Lease",)


@pytest.mark.parametrize(("kind", "why"), [(ReadsPods, ".pods"), (Declares, "node+pods"), (Looks, "Lease")])
def test_plugins_that_need_the_cluster_say_so_at_the_start(kind: type[Plugin], why: str) -> None:
    with pytest.raises(PluginError, match="kubeconfig") as caught:
        Handlers([GroupMember(kind)])
    assert why in str(caught.value)
    Handlers([GroupMember(kind)], cluster_cache=FakeClusterCache())


def test_what_cannot_be_served_at_all() -> None:
    class Idle(Plugin):
        name = "idle"

        def pre_enqueue(self, pod: Pod) -> None:
            return None

    with pytest.raises(PluginError, match='"idle" has nothing for an extender to serve'):
        Handlers([GroupMember(Idle)])
    with pytest.raises(PluginError, match="two plugins named"):
        Handlers([GroupMember(Tiers), GroupMember(Tiers)])
    with pytest.raises(PluginError, match="ZeroDivisionError"):
        Handlers([GroupMember(lambda args, handle: 1 / 0, name="broken")])  # type: ignore[arg-type,return-value]


def test_settings_that_make_no_sense() -> None:
    with pytest.raises(ConfigError, match="weight"):
        GroupMember(Tiers, weight=0)
    with pytest.raises(TypeError, match="bind"):
        FailurePolicy(bind="pass")  # type: ignore[call-arg]
    with pytest.raises(ConfigError, match="timeout"):
        Handlers([GroupMember(Tiers)], OperatorPolicy(http_timeout=Duration()))
    with pytest.raises(InputError, match="not a valid label selector operator"):
        PodSelection(labels=LabelSelector(match_expressions=(LabelSelectorRequirement(key="a", operator="Like"),)))


def test_an_unforeseen_bug_is_an_error_not_a_lost_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    handlers = Handlers([GroupMember(Tiers)])
    monkeypatch.setattr(handlers._state, "plugins_for", lambda call, request: 1 / 0)
    assert "ZeroDivisionError" in json.loads(handlers.filter(full(node("a"))).body)["Error"]
