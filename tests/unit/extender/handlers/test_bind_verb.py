"""The bind verb: always a body, and what it says is true."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.builders import node, pod
from tests.unit.extender.handlers.scene import FakeClusterCache, FakeReservations, Tiers, encode, full

from stowplan.config.duration import Duration
from stowplan.extender.handlers import GroupMember, Handlers, VerbReply
from stowplan.extender.policy import OperatorPolicy
from stowplan.framework import CycleState, Plugin, Pod, Status, error, skip

REQUEST = encode({"PodName": "web", "PodNamespace": "default", "PodUID": "default/web", "Node": "n1"})


def ask(handlers: Handlers, body: bytes = REQUEST) -> VerbReply:
    return asyncio.run(handlers.answer("bind", body))


def binder(answer: Any, *, later: bool = False) -> type[Plugin]:
    class Binder(Plugin):
        name = "binder"

        def bind(self, state: CycleState, pod: Pod, node_name: str) -> Any:
            if later:

                async def bound() -> Any:
                    return answer

                return bound()
            if isinstance(answer, Exception):
                raise answer
            return answer

    return Binder


def test_whoever_is_there_binds_where_no_plugin_does() -> None:
    reservations = FakeReservations()
    handlers = Handlers([GroupMember(Tiers)], reservations=reservations)
    assert "bind" in handlers.serves
    reply = ask(handlers)
    assert (reply.status, json.loads(reply.body)) == (200, {"Error": ""})
    assert reservations.bound == [("default/web", "n1")]
    assert (reply.facts.node_name, reply.facts.pod_uid) == ("n1", "default/web")
    assert reply.decision().node == "n1"


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize(
    ("answer", "said"),
    [(None, ""), (error("taken"), 'running Bind plugin "binder": taken'), (Status(error("x").code, "y"), "y")],
)
def test_a_plugin_binds(answer: Status | None, said: str, later: bool) -> None:
    reservations = FakeReservations()
    reply = ask(Handlers([GroupMember(binder(answer, later=later))], reservations=reservations))
    assert reply.status == 200
    assert said in json.loads(reply.body)["Error"]
    assert bool(said) == bool(json.loads(reply.body)["Error"])
    assert reservations.bound == []


def test_a_plugin_that_skips_leaves_it_to_others() -> None:
    reservations = FakeReservations()
    assert json.loads(ask(Handlers([GroupMember(binder(skip()))], reservations=reservations)).body) == {"Error": ""}
    assert reservations.bound == [("default/web", "n1")]


def test_failures_become_texts() -> None:
    reply = ask(Handlers([GroupMember(binder(ValueError("no")))]))
    assert "ValueError: no" in json.loads(reply.body)["Error"]
    refused = ask(Handlers([GroupMember(Tiers)], reservations=FakeReservations(error("somebody else has it"))))
    assert json.loads(refused.body) == {"Error": "somebody else has it"}
    assert refused.facts.error == "somebody else has it"
    alone = ask(Handlers([GroupMember(Tiers)]))
    assert "no access to the cluster" in json.loads(alone.body)["Error"]
    assert ask(Handlers([GroupMember(Tiers)]), b"{}").status == 400


class Carrying(Plugin):
    name = "carrying"

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Any) -> None:
        state.write("app", pod.labels["app"])

    def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        return error(f"{state.get('app')} {pod.labels.get('app')} {pod.priority}")


def test_the_state_lives_from_filter_to_bind() -> None:
    handlers = Handlers([GroupMember(Carrying)])
    handlers.filter(full(node("n1"), of=pod("web", labels={"app": "shop"}, priority=3)))
    assert "shop shop 3" in json.loads(ask(handlers).body)["Error"]


def test_after_a_restart_the_pod_comes_from_the_cache() -> None:
    cache = FakeClusterCache()
    from stowplan import api
    from stowplan.api import codec

    cache.pending["default/web"] = cache.cluster.pod(codec.convert(api.Pod, pod("web", priority=8)))
    assert "None None 8" in json.loads(ask(Handlers([GroupMember(Carrying)], cluster_cache=cache)).body)["Error"]
    assert "None None 0" in json.loads(ask(Handlers([GroupMember(Carrying)])).body)["Error"]


def test_in_shadow_mode_pods_are_bound_without_the_plugin() -> None:
    reservations = FakeReservations()
    handlers = Handlers([GroupMember(binder(error("no")))], OperatorPolicy(shadow=True), reservations=reservations)
    assert json.loads(ask(handlers).body) == {"Error": ""}
    assert reservations.bound


def test_a_binding_that_takes_too_long() -> None:
    class Slow(Plugin):
        name = "slow"

        async def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
            await asyncio.sleep(60)
            return None

    reply = ask(Handlers([GroupMember(Slow)], OperatorPolicy(http_timeout=Duration.parse("0.1s"))))
    assert "not bound in time" in json.loads(reply.body)["Error"]
    assert reply.facts.abandoned
