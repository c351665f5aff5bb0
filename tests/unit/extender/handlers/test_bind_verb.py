"""The bind verb: always a body, and what it says is true."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.builders import Json, node, pod
from tests.unit.extender.handlers.handler_fakes import (
    FakeClusterCache,
    FakeReservations,
    Tiers,
    encode,
    full,
    named,
    tiers,
)

from stowplan import api
from stowplan.api import codec
from stowplan.config.duration import Duration
from stowplan.errors import PluginError
from stowplan.extender.handlers import GroupMember, Handlers, VerbReply
from stowplan.extender.handlers.pod_cycles import PassedNodes
from stowplan.extender.handlers.verb_call import CallFacts
from stowplan.extender.policy import FailurePolicy, OperatorPolicy
from stowplan.framework import CycleState, NodeInfo, Plugin, Pod, Status, error, reject, skip

REQUEST = encode({"PodName": "web", "PodNamespace": "default", "PodUID": "default/web", "Node": "n1"})


def ask(handlers: Handlers, body: bytes = REQUEST, *, filtered: bool = True) -> VerbReply:
    """The reply to a bind request, after a filter request that lets the node pass."""
    if filtered and "filter" in handlers.serves:
        handlers.filter(full(node("n1")))
    return asyncio.run(handlers.answer("bind", body))


def refusal(handlers: Handlers, **request: str) -> str:
    """The error of a bind request for a node that passes."""
    body = {"PodName": "web", "PodNamespace": "default", "PodUID": "default/web", "Node": "n1", **request}
    error: str = json.loads(ask(handlers, encode(body), filtered=False).body)["Error"]
    return error


def binder(answer: Any, *, later: bool = False) -> type[Plugin]:
    class Binder(Plugin):
        name = "binder"

        def bind(self, state: CycleState, pod: Pod, node_name: str) -> Any:
            if later:

                async def bound() -> Any:
                    return result()

                return bound()
            return result()

    def result() -> Any:
        if isinstance(answer, BaseException):
            raise answer
        return answer

    return Binder


def test_whoever_is_there_binds_where_no_plugin_does() -> None:
    reservations = FakeReservations()
    handlers = Handlers([GroupMember(Tiers)], reservations=reservations, binds=True)
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
    reply = ask(Handlers([GroupMember(binder(answer, later=later))], reservations=reservations, binds=True))
    assert reply.status == 200
    assert said in json.loads(reply.body)["Error"]
    assert bool(said) == bool(json.loads(reply.body)["Error"])
    assert reservations.bound == []


def test_a_plugin_that_skips_leaves_it_to_others() -> None:
    reservations = FakeReservations()
    assert json.loads(ask(Handlers([GroupMember(binder(skip()))], reservations=reservations, binds=True)).body) == {
        "Error": ""
    }
    assert reservations.bound == [("default/web", "n1")]


@pytest.mark.parametrize("later", [False, True])
def test_a_plugin_that_exits_fails_the_bind_only(later: bool) -> None:
    reply = ask(Handlers([GroupMember(binder(SystemExit(3), later=later))], binds=True))
    text = json.loads(reply.body)["Error"]
    assert text.startswith('running Bind plugin "binder": bind raised SystemExit: 3 (tests/unit/extender/handlers/')


def test_failures_become_texts() -> None:
    reply = ask(Handlers([GroupMember(binder(ValueError("no")))], binds=True))
    assert "ValueError: no" in json.loads(reply.body)["Error"]
    refused = ask(
        Handlers([GroupMember(Tiers)], reservations=FakeReservations(error("somebody else has it")), binds=True)
    )
    assert json.loads(refused.body) == {"Error": "somebody else has it"}
    assert refused.facts.error == "somebody else has it"
    alone = ask(Handlers([GroupMember(Tiers)], binds=True))
    assert "no access to the cluster" in json.loads(alone.body)["Error"]
    assert ask(Handlers([GroupMember(Tiers)], binds=True), b"{}").status == 400


class Carrying(Plugin):
    name = "carrying"

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Any) -> None:
        state.write("app", pod.labels["app"])

    def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        return error(f"{state.get('app')} {pod.labels.get('app')} {pod.priority}")


def test_the_state_lives_from_filter_to_bind() -> None:
    handlers = Handlers([GroupMember(Carrying)], binds=True)
    handlers.filter(full(node("n1"), of=pod("web", labels={"app": "shop"}, priority=3)))
    assert "shop shop 3" in json.loads(ask(handlers, filtered=False).body)["Error"]


class Reporting(Plugin):
    name = "reporting"

    def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        return error(f"priority {pod.priority}")


def pending(cache: FakeClusterCache, **spec: Any) -> None:
    cache.pending["default/web"] = cache.cluster.pod(codec.convert(api.Pod, pod("web", **spec)))


def test_a_plugin_that_does_not_filter_gets_the_pod_from_the_cache() -> None:
    cache = FakeClusterCache()
    pending(cache, priority=8)
    known = Handlers([GroupMember(Reporting)], cluster_cache=cache, binds=True)
    assert "priority 8" in json.loads(ask(known).body)["Error"]
    assert "priority 0" in json.loads(ask(Handlers([GroupMember(Reporting)], binds=True)).body)["Error"]


def test_binding_is_off_unless_asked_for() -> None:
    handlers = Handlers([GroupMember(Tiers)], reservations=FakeReservations())
    assert "bind" not in handlers.serves
    assert "the bind verb is disabled" in json.loads(ask(handlers).body)["Error"]
    with pytest.raises(PluginError, match='"binder" binds pods, and the bind verb is disabled'):
        Handlers([GroupMember(binder(None))])
    (warning,) = Handlers([GroupMember(Carrying)]).warnings
    assert warning.endswith('so these points are never called: bind of "carrying"')


def test_pods_are_bound_only_to_nodes_that_the_filter_let_pass() -> None:
    reservations = FakeReservations()
    handlers = Handlers([GroupMember(Tiers)], reservations=reservations, binds=True)
    assert "has not let node n1 pass for pod default/web" in refusal(handlers)
    handlers.filter(full(*tiers(n1="silver", n2="gold")))
    assert "has not let node n1 pass" in refusal(handlers)
    assert "has not let node n3 pass" in refusal(handlers, Node="n3")
    assert "has not let node n2 pass for pod default/other" in refusal(
        handlers, Node="n2", PodName="other", PodUID="default/other"
    )
    assert reservations.bound == []
    assert refusal(handlers, Node="n2") == ""
    assert reservations.bound == [("default/web", "n2")]


@pytest.mark.parametrize("how", ["pass", "cached"])
def test_nodes_of_a_fallback_are_let_pass_too(how: str) -> None:
    policy = OperatorPolicy(failure_policy=FailurePolicy(filter=how))
    handlers = Handlers([GroupMember(Tiers)], policy, reservations=FakeReservations(), binds=True)
    handlers.filter(full(*tiers(n1="gold", n2="gold")))
    handlers.filter(full(*tiers(n1="boom", n2="gold")))
    assert refusal(handlers) == ""


def test_only_pods_that_exist_and_of_schedulers_that_are_served_are_bound() -> None:
    """A client can send a filter request of its own first, with any pod in it."""
    cache, reservations = FakeClusterCache(*tiers(n1="gold")), FakeReservations()

    def handlers(*names: str) -> Handlers:
        policy = OperatorPolicy(bind_scheduler_names=names or ("default-scheduler",))
        made = Handlers([GroupMember(Tiers)], policy, cluster_cache=cache, reservations=reservations, binds=True)
        made.filter(named("n1"))
        return made

    assert 'pod default/web with uid "default/web" does not exist' in refusal(handlers())
    pending(cache, schedulerName="another")
    assert 'belongs to scheduler "another"' in refusal(handlers())
    assert refusal(handlers("default-scheduler", "another")) == ""
    pending(cache)
    assert "does not exist" in refusal(handlers(), PodName="impostor")
    nameless = handlers()
    nameless.filter(named("n1", of=pod("web", uid="")))
    assert "does not exist" in refusal(nameless, PodUID="")
    assert reservations.bound == [("default/web", "n1")]
    assert refusal(handlers()) == ""


class Wards(Plugin):
    """Rejects pods without the label or annotation ward."""

    name = "wards"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        state.write("ward", pod.labels.get("ward"))
        return None if "ward" in {**pod.labels, **pod.annotations} else reject("not for wards")

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        return None if state.get("ward") == pod.labels.get("ward") else error("state of another pod")


def wards(cache: FakeClusterCache, reservations: FakeReservations, policy: OperatorPolicy | None = None) -> Handlers:
    return Handlers([GroupMember(Wards)], policy, cluster_cache=cache, reservations=reservations, binds=True)


FORGED = [
    pod("web", labels={"ward": "yes"}),
    pod("other", labels={"ward": "yes"}, uid="default/web"),
    pod("web", priority=2_000_001_000),
    pod("web", annotations={"ward": "yes"}),
]


@pytest.mark.parametrize("forged", FORGED, ids=["label", "name", "priority", "annotation"])
@pytest.mark.parametrize("early", [False, True])
def test_another_pod_that_is_sent_under_the_uid_of_a_pod_does_not_get_it_bound(forged: Json, early: bool) -> None:
    cache, reservations = FakeClusterCache(node("n1")), FakeReservations()
    handlers = wards(cache, reservations, OperatorPolicy(spare_critical=True))
    if early:  # The informer cache gets the pod after the filter request.
        handlers.filter(named("n1", of=forged))
        pending(cache)
    else:
        pending(cache)
        handlers.filter(named("n1", of=forged))
        handlers.prioritize(named("n1", of=forged))
    said = "called for a pod that differs from pod default/web" if early else "has not let node n1 pass"
    assert said in refusal(handlers)
    assert reservations.bound == []


@pytest.mark.parametrize("early", [False, True])
def test_a_pod_that_is_sent_as_it_is_in_the_cluster_is_bound(early: bool) -> None:
    cache, reservations = FakeClusterCache(node("n1")), FakeReservations()
    handlers, ward = wards(cache, reservations), {"ward": "yes"}
    if not early:
        pending(cache, labels=ward)
    handlers.filter(named("n1", of=pod("web", labels=ward)))
    handlers.prioritize(named("n1", of=pod("web", labels=ward)))
    pending(cache, labels=ward)
    assert refusal(handlers) == ""
    assert reservations.bound == [("default/web", "n1")]


def test_an_earlier_answer_about_another_pod_does_not_get_a_pod_bound() -> None:
    class Failing(Wards):
        failing = False

        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
            if Failing.failing:
                raise ValueError("out of order")
            return super().filter(state, pod, node)

    cache, reservations = FakeClusterCache(node("n1")), FakeReservations()
    policy = OperatorPolicy(failure_policy=FailurePolicy(filter="cached"))
    handlers = Handlers([GroupMember(Failing)], policy, cluster_cache=cache, reservations=reservations, binds=True)
    handlers.filter(named("n1", of=FORGED[0]))
    pending(cache)
    Failing.failing = True
    handlers.filter(named("n1"))
    assert "differs from pod default/web" in refusal(handlers)
    assert reservations.bound == []


def test_what_was_let_pass_is_remembered_within_bounds() -> None:
    passed, facts = PassedNodes(max_pods=2, max_nodes=5, expires_after=10), [CallFacts("filter") for _ in range(3)]
    for number, fact in enumerate(facts):
        fact.pod_uid = str(number)
        passed.put(fact, ["a", "b"], now=number)
    assert [passed.contains(fact, "a", now=3) for fact in facts] == [False, True, True]
    assert not passed.contains(facts[2], "c", now=3)
    assert [passed.contains(fact, "b", now=11.5) for fact in facts] == [False, False, True]
    passed.put(facts[0], ["a", "b", "c", "d"], now=12)
    assert [passed.contains(fact, "a", now=12) for fact in facts] == [True, False, False]


def test_in_shadow_mode_pods_are_bound_without_the_plugin() -> None:
    reservations = FakeReservations()
    policy = OperatorPolicy(shadow=True)
    handlers = Handlers([GroupMember(binder(error("no")))], policy, reservations=reservations, binds=True)
    assert json.loads(ask(handlers).body) == {"Error": ""}
    assert reservations.bound


def test_a_binding_that_takes_too_long() -> None:
    class Slow(Plugin):
        name = "slow"

        async def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
            await asyncio.sleep(60)
            return None

    reply = ask(Handlers([GroupMember(Slow)], OperatorPolicy(http_timeout=Duration.parse("0.1s")), binds=True))
    assert "not bound in time" in json.loads(reply.body)["Error"]
    assert reply.facts.abandoned
