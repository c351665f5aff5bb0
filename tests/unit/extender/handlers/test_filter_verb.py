"""The filter verb: what plugins say, as the scheduler reads it."""

from __future__ import annotations

import json

import pytest
from tests.builders import node, pod
from tests.unit.extender.handlers.handler_fakes import (
    FakeClusterCache,
    FakeReservations,
    Tiers,
    encode,
    full,
    named,
    reply_json,
    tiers,
)

from stowplan.extender.handlers import GroupMember, Handlers
from stowplan.extender.policy import FailurePolicy, OperatorPolicy, PodSelection
from stowplan.framework import CycleState, NodeInfo, Nodes, Plugin, Pod, Status, reject, reject_forever


def test_nodes_in_full_need_nothing_else() -> None:
    nodes = tiers(a="gold", b="silver", c="lead")
    request = full(*nodes)
    reply = Handlers([GroupMember(Tiers)]).filter(request)
    answer = reply_json(reply)
    assert answer["NodeNames"] is None
    assert answer["Nodes"]["items"] == [nodes[0]]
    assert answer["FailedNodes"] == {"b": "full"}
    assert answer["FailedAndUnresolvableNodes"] == {"c": "wrong metal"}
    assert answer["Error"] == ""
    assert encode(nodes[0]) in reply.body
    facts = reply.facts
    assert (facts.nodes_in, facts.nodes_out, facts.rejects) == (3, 1, {"full": 1, "wrong metal": 1})
    assert (facts.pod, facts.pod_uid, facts.error) == ("default/web", "default/web", "")
    assert set(facts.plugin_seconds) == {"tiers"}


def test_changed_nodes_are_judged_anew_and_others_are_not() -> None:
    asked: list[str] = []

    class Listening(Tiers):
        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
            asked.append(node.name)
            return super().filter(state, pod, node)

    handlers = Handlers([GroupMember(Listening)])
    handlers.filter(full(*tiers(a="gold", b="silver")))
    asked.clear()
    answer = reply_json(handlers.filter(full(*tiers(b="gold", a="gold"), of=pod("other"))))
    assert asked == ["b"]
    assert [item["metadata"]["name"] for item in answer["Nodes"]["items"]] == ["b", "a"]


def test_a_change_of_conditions_alone_is_noticed() -> None:
    class Ready(Plugin):
        name = "ready"
        scope = "node"

        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
            conditions = {condition.type: condition.status for condition in node.node.status.conditions}
            return None if conditions["Ready"] == "True" else reject("not ready")

    def request(status: str) -> bytes:
        return full(node("a", status={"conditions": [{"type": "Ready", "status": status}]}))

    handlers = Handlers([GroupMember(Ready)])
    assert reply_json(handlers.filter(request("True")))["FailedNodes"] == {}
    assert reply_json(handlers.filter(request("False")))["FailedNodes"] == {"a": "not ready"}


def test_names_are_looked_up_in_the_cache() -> None:
    cache = FakeClusterCache(*tiers(a="gold", b="silver"))
    answer = reply_json(Handlers([GroupMember(Tiers)], cluster_cache=cache).filter(named("b", "a", "new")))
    assert answer["Nodes"] is None
    assert answer["NodeNames"] == ["a"]
    assert answer["FailedNodes"] == {"b": "full"}
    assert answer["FailedAndUnresolvableNodes"] == {"new": "node(s) not known to the extender yet"}


@pytest.mark.parametrize("names", [["a", "b", "a"], ["new", "a", "new"]])
def test_nodes_named_twice_are_answered_once(names: list[str]) -> None:
    cache = FakeClusterCache(*tiers(a="gold", b="gold"))
    answer = reply_json(Handlers([GroupMember(Tiers)], cluster_cache=cache).filter(named(*names)))
    assert answer["NodeNames"] == [name for name in dict.fromkeys(names) if name != "new"]


def test_names_without_a_cache_are_an_error_that_says_what_to_do(caplog: pytest.LogCaptureFixture) -> None:
    handlers = Handlers([GroupMember(Tiers)])
    answers = [reply_json(handlers.filter(named("a"))) for _ in range(2)]
    assert {answer["Error"] for answer in answers} == {
        "the request has node names only, and this extender has no access to the cluster: set nodeCacheCapable: false "
        "in kube-scheduler's configuration, or start the extender with --kubeconfig or --in-cluster"
    }
    assert answers[0]["NodeNames"] is None
    (record,) = caplog.records
    assert record.message == f"nodeCacheCapable does not match this extender: {answers[0]['Error']}", "only once"


def test_whole_nodes_with_a_cache_are_answered_and_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    nodes = tiers(a="gold", b="silver")
    handlers = Handlers([GroupMember(Tiers)], cluster_cache=FakeClusterCache(*nodes))
    handlers.filter(full(*tiers(template="gold")))
    assert not caplog.records, "an autoscaler sends nodes that do not exist"
    for _ in range(2):
        assert reply_json(handlers.filter(full(*nodes)))["FailedNodes"] == {"b": "full"}
    (record,) = caplog.records
    assert "set nodeCacheCapable: true in kube-scheduler's configuration" in record.message


def test_bare_names_are_enough_where_that_is_wanted() -> None:
    class OnlyA(Plugin):
        name = "only-a"

        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
            return None if node.name == "a" else reject("another")

    handlers = Handlers([GroupMember(OnlyA)], OperatorPolicy(bare_names=True))
    assert reply_json(handlers.filter(named("a", "b")))["NodeNames"] == ["a"]


def test_a_cache_that_is_not_filled_yet_is_an_error() -> None:
    answer = reply_json(Handlers([GroupMember(Tiers)], cluster_cache=FakeClusterCache(synced=False)).filter(named("a")))
    assert "not filled yet" in answer["Error"]


@pytest.mark.parametrize(("tier", "text"), [("bronze", "cannot tell"), ("boom", "ValueError: no such tier")])
def test_errors_reach_the_event(tier: str, text: str) -> None:
    reply = Handlers([GroupMember(Tiers)]).filter(full(*tiers(a="gold", b=tier)))
    assert text in reply_json(reply)["Error"]
    assert "tiers" in reply.facts.error
    assert reply_json(reply)["Nodes"] is None


def test_reasons_name_no_nodes(caplog: pytest.LogCaptureFixture) -> None:
    class Chatty(Plugin):
        name = "chatty"

        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
            return (
                reject_forever()
                if node.name == "silent"
                else reject(f"node {node.name} is full of {node.name}-like \ud800")
            )

    answer = reply_json(Handlers([GroupMember(Chatty)]).filter(full(node("n1"), node("n2"), node("silent"))))
    assert answer["FailedNodes"] == {
        "n1": "node is full of n1-like ?",
        "n2": "node is full of n2-like ?",
    }
    assert answer["FailedAndUnresolvableNodes"] == {"silent": "rejected by chatty"}
    assert len([record for record in caplog.records if "names nodes in its reasons" in record.message]) == 1


class Choosy(Plugin):
    name = "choosy"

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | list[str] | None:
        state.write("seen", nodes.meant)
        match pod.labels.get("want"):
            case "nothing":
                return reject("not today")
            case "never":
                return reject_forever("not ever")
            case "a":
                return ["a", "elsewhere"]
        return None

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return reject(f"{state.read('seen')} nodes") if node.name == "b" else None


@pytest.mark.parametrize(
    ("want", "names", "failed", "unresolvable"),
    [
        ("any", ["a", "c"], {"b": "3 nodes"}, {}),
        ("nothing", [], dict.fromkeys("abc", "not today"), {}),
        ("never", [], {}, dict.fromkeys("abc", "not ever")),
        ("a", ["a"], {}, dict.fromkeys("bc", "node(s) didn't satisfy plugin(s) [choosy]")),
    ],
)
def test_pre_filter(want: str, names: list[str], failed: dict[str, str], unresolvable: dict[str, str]) -> None:
    handlers = Handlers([GroupMember(Choosy)], OperatorPolicy(bare_names=True))
    answer = reply_json(handlers.filter(named("a", "b", "c", of=pod("web", labels={"want": want}))))
    assert (answer["NodeNames"], answer["FailedNodes"], answer["FailedAndUnresolvableNodes"]) == (
        names,
        failed,
        unresolvable,
    )


def test_several_plugins_all_have_to_agree() -> None:
    class Named(Plugin):
        name = "named"

        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
            return reject("unlucky") if node.name == "d" else None

    nodes = tiers(a="gold", b="silver", d="gold")
    answer = reply_json(Handlers([GroupMember(Tiers), GroupMember(Named)]).filter(full(*nodes)))
    assert answer["FailedNodes"] == {"b": "full", "d": "unlucky"}


@pytest.mark.parametrize(
    ("selector", "asked"),
    [
        (PodSelection(), True),
        (PodSelection(namespaces=("default", "other")), True),
        (PodSelection(namespaces=("other",)), False),
        (PodSelection(scheduler_names=("default-scheduler",)), True),
        (PodSelection(scheduler_names=("mine",)), False),
        (PodSelection(resources=("cpu", "example.com/gpu")), True),
        (PodSelection(resources=("example.com/gpu",)), False),
        (json.loads('{"matchLabels": {"app": "web"}}'), True),
        (
            json.loads('{"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "x", "operator": "Exists"}]}'),
            False,
        ),
    ],
)
def test_selectors(selector: PodSelection | dict[str, object], asked: bool) -> None:
    if isinstance(selector, dict):
        from stowplan.api import LabelSelector, codec

        selector = PodSelection(labels=codec.convert(LabelSelector, selector))
    handlers = Handlers([GroupMember(Tiers, selector=selector)])
    of = pod("web", labels={"app": "web"}, requests={"cpu": "1"})
    answer = reply_json(handlers.filter(full(*tiers(b="silver"), of=of)))
    assert answer["FailedNodes"] == ({"b": "full"} if asked else {})


@pytest.mark.parametrize(
    ("policy", "of", "spared"),
    [
        (OperatorPolicy(own_pods=PodSelection(namespaces=("default",))), pod("web"), True),
        (OperatorPolicy(own_pods=PodSelection(namespaces=("kube-system",))), pod("web"), False),
        (OperatorPolicy(spare_critical=True), pod("web", priority=2_000_001_000), True),
        (OperatorPolicy(spare_critical=True), pod("web", priority=1000), False),
        (OperatorPolicy(), pod("web", priority=2_000_001_000), False),
    ],
)
def test_some_pods_are_never_rejected(policy: OperatorPolicy, of: dict[str, object], spared: bool) -> None:
    answer = reply_json(Handlers([GroupMember(Tiers)], policy).filter(full(*tiers(b="silver"), of=of)))
    assert answer["FailedNodes"] == ({} if spared else {"b": "full"})


def test_shadow_mode_rejects_nothing_but_tells(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    reply = Handlers([GroupMember(Tiers)], OperatorPolicy(shadow=True)).filter(full(*tiers(a="gold", b="silver")))
    assert reply_json(reply)["FailedNodes"] == {}
    assert len(reply_json(reply)["Nodes"]["items"]) == 2
    assert reply.facts.rejects == {"full": 1}
    assert reply.decision().rejected["b"].reasons == ("full",)
    assert "would have rejected" in caplog.text
    broken = Handlers([GroupMember(Tiers)], OperatorPolicy(shadow=True)).filter(full(*tiers(a="boom")))
    assert reply_json(broken)["Error"] == ""
    assert broken.facts.error


def test_pass_through_and_the_cached_answer() -> None:
    passing = Handlers([GroupMember(Tiers)], OperatorPolicy(failure_policy=FailurePolicy(filter="pass")))
    assert len(reply_json(passing.filter(full(*tiers(a="gold", b="boom"))))["Nodes"]["items"]) == 2
    cached = Handlers([GroupMember(Tiers)], OperatorPolicy(failure_policy=FailurePolicy(filter="cached")))
    assert "no such tier" in reply_json(cached.filter(full(*tiers(b="boom"))))["Error"]
    assert reply_json(cached.filter(full(*tiers(a="gold", b="silver", c="lead"))))["Error"] == ""
    answer = reply_json(cached.filter(full(*tiers(a="gold", b="silver", c="lead", d="boom"))))
    assert [item["metadata"]["name"] for item in answer["Nodes"]["items"]] == ["a"]
    assert answer["FailedNodes"] == {"b": "full", "d": "no answer in time, nor an earlier one"}
    assert answer["FailedAndUnresolvableNodes"] == {"c": "wrong metal"}


def test_strangers_beside_a_cache_are_a_dry_run() -> None:
    cache, reservations = FakeClusterCache(*tiers(a="silver")), FakeReservations()
    handlers = Handlers([GroupMember(Tiers)], cluster_cache=cache, reservations=reservations)
    reply = handlers.filter(full(*tiers(template="lead", a="gold", other="gold")))
    answer = reply_json(reply)
    assert reply.facts.dry_run
    assert [item["metadata"]["name"] for item in answer["Nodes"]["items"]] == ["other"]
    assert answer["FailedNodes"] == {"a": "full"}
    assert answer["FailedAndUnresolvableNodes"] == {"template": "wrong metal"}
    assert "other" not in cache.cluster.nodes.slot_of
    assert reservations.restarted == []
    handlers.filter(full(*tiers(a="gold")))
    assert reservations.restarted == ["default/web"]


def test_the_decision_tells_it_all() -> None:
    record = Handlers([GroupMember(Tiers)]).filter(full(*tiers(a="gold", b="silver"))).decision()
    assert (record.pod, record.nodes, record.feasible) == ("default/web", 2, ("a",))
    assert record.rejected["b"].plugin == "tiers"


def test_what_cannot_be_read_is_a_bad_request() -> None:
    reply = Handlers([GroupMember(Tiers)]).filter(b'{"Pod":')
    assert reply.status == 400
    assert "truncated" in json.loads(reply.body)["Error"]


def test_whole_objects_for_plugins_that_need_them() -> None:
    class Whole(Plugin):
        name = "whole"
        scope = "node"
        needs_objects = True

        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
            return reject(node.object["status"]["odd"] + pod.object["spec"]["odder"])

    item = node("a", status={"odd": "so "})
    answer = reply_json(Handlers([GroupMember(Whole)]).filter(full(item, of=pod("web", odder="it is"))))
    assert answer["FailedNodes"] == {"a": "so it is"}


def test_lower_case_replies() -> None:
    answer = reply_json(
        Handlers([GroupMember(Tiers)], OperatorPolicy(lower_case_replies=True)).filter(full(*tiers(a="gold")))
    )
    assert "failedNodes" in answer
