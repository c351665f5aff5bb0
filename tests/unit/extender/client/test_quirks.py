"""What becomes of a pod with extenders as they are found in the wild."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from aiohttp import web
from tests.builders import World, node, pod
from tests.unit.extender.client.fake_server import decide

NODES = ("a", "b", "c")


def world() -> World:
    return World([node(name) for name in NODES])


def whole(*names: str) -> dict[str, Any]:
    return {"metadata": {}, "items": [{"metadata": {"name": name}, "spec": {}, "status": {}} for name in names]}


def refusal(status: int, body: bytes) -> Any:
    return lambda path, request: web.Response(status=status, body=body)


NONE = "0/3 nodes are available:"

FILTERS: dict[str, tuple[bool, Any, set[str] | str]] = {
    # name: (nodeCacheCapable, reply, the nodes that pass or how the message begins)
    "lower-case names": (True, {"nodenames": ["b"], "failedNodes": {"a": "no"}}, {"b"}),
    "lower-case nodes, as topolvm writes them": (False, {"nodes": whole("b", "c")}, {"b", "c"}),
    "both lists, as gpushare fills them": (True, {"NodeNames": ["b"], "Nodes": whole("a", "b")}, {"b"}),
    "one node, as spark and HAMi return": (True, {"NodeNames": ["c"], "FailedNodes": {}, "Error": ""}, {"c"}),
    "nulls everywhere": (
        True,
        {"Nodes": None, "NodeNames": ["a"], "FailedNodes": None, "FailedAndUnresolvableNodes": None, "Error": None},
        {"a"},
    ),
    "a name that ends with nothing, as TAS writes it": (True, {"NodeNames": ["a", "b", ""]}, {"a", "b"}),
    "a name twice": (True, {"NodeNames": ["a", "a"]}, {"a"}),
    "trailing bytes": (True, b'{"NodeNames":["a"]}\ngarbage', {"a"}),
    "unknown keys": (True, {"NodeNames": ["a"], "node_names": ["b"], "Version": 3}, {"a"}),
    "the later of two spellings": (True, b'{"NodeNames":["a"],"nodenames":["b"]}', {"b"}),
    "an empty object": (True, {}, NONE),
    "null": (True, None, NONE),
    "no names": (True, {"NodeNames": []}, NONE),
    "names where whole nodes count": (False, {"NodeNames": ["a"]}, NONE),
    "nodes in answer to names": (True, {"Nodes": whole("b")}, {"b"}),
    "reasons that are no strings": (True, {"NodeNames": ["a"], "FailedNodes": {"b": 7, "c": None}}, {"a"}),
    "a list of nodes as reasons, as a Flask sample": (True, {"NodeNames": ["a"], "FailedNodes": whole("b")}, {"a"}),
    "an unknown name": (
        True,
        {"NodeNames": ["z"]},
        'extender "{prefix}" claims a filtered node "z" which is not found in the input node list',
    ),
    "an unknown node": (
        False,
        {"Nodes": whole("a", "z")},
        'extender "{prefix}" claims a filtered node "z" which is not found in the input node list',
    ),
    "nodes as a list": (
        False,
        {"Nodes": []},
        "json: cannot unmarshal array into Go struct field ExtenderFilterResult.Nodes of type v1.NodeList",
    ),
    "numbers for names": (
        True,
        {"NodeNames": [1]},
        "json: cannot unmarshal number into Go struct field ExtenderFilterResult.NodeNames of type []string",
    ),
    "a list": (True, ["a"], "json: cannot unmarshal array into Go value of type v1.ExtenderFilterResult"),
    "an empty body": (True, b"", "EOF"),
    "no JSON": (
        True,
        b"{'NodeNames': ['a']}",
        """invalid character "'" looking for beginning of object key string (the reply begins with """,
    ),
    "an error": (True, {"NodeNames": ["a"], "Error": "licence pool exhausted"}, "licence pool exhausted"),
    "400 with plain text, as stork refuses": (
        True,
        refusal(400, b"no PVCs  found\n"),
        "failed filter with extender at URL {prefix}/filter, code 400: no PVCs found",
    ),
    "404 and null, as TAS": (
        True,
        refusal(404, b"null"),
        "failed filter with extender at URL {prefix}/filter, code 404",
    ),
    "500 with an error as JSON, as gpushare": (
        True,
        refusal(500, b'{"Error":"no such GPU"}'),
        "failed filter with extender at URL {prefix}/filter, code 500: no such GPU",
    ),
    "201": (True, refusal(201, b'{"NodeNames":["a"]}'), "failed filter with extender at URL {prefix}/filter, code 201"),
    "204": (True, refusal(204, b""), "failed filter with extender at URL {prefix}/filter, code 204"),
}


@pytest.mark.parametrize("quirk", FILTERS)
def test_filter(quirk: str) -> None:
    cached, reply, expected = FILTERS[quirk]
    say = reply if callable(reply) else lambda path, request: reply
    decision = decide(world(), pod("p"), say, node_cache_capable=cached)
    if isinstance(expected, set):
        assert decision.diagnosis is not None
        names = {
            info.name for info in decision.profile.cluster.nodes if info.slot in decision.diagnosis.feasible.tolist()
        }
        assert names == expected
        assert decision.node_name in expected
    else:
        prefix = decision.profile.extenders[0].name
        assert decision.node_name == ""
        assert decision.message.startswith(expected.format(prefix=prefix))
        assert (decision.error is None) == (expected == NONE)


SCORES: dict[str, tuple[Any, str]] = {
    # name: (reply, the node that is chosen of a and b, which are alike)
    "lower-case": ([{"host": "b", "score": 1}], "b"),
    "a float": ([{"Host": "a", "Score": 0.4}, {"Host": "b", "Score": 0.5}], "b"),
    "a number as text": ([{"Host": "b", "Score": "3"}], "b"),
    "one entry that is no score": ([{"Host": "a", "Score": {}}, None, 7, {"Host": "b", "Score": 1}], "b"),
    "scores up to a hundred, as stork": ([{"Host": "a", "Score": 50}, {"Host": "b", "Score": 100}], "b"),
    "negative ones, as TAS": ([{"Host": "a", "Score": -1}], "b"),
    "hosts twice": ([{"Host": "a", "Score": 5}, {"Host": "b", "Score": 3}, {"Host": "b", "Score": 3}], "b"),
    "hosts that nobody asked about": ([{"Host": "x", "Score": 10}, {"Host": "b", "Score": 1}], "b"),
    "beyond int64": (b'[{"Host":"b","Score":1e300},{"Host":"a","Score":10}]', "b"),
    "not a number": (b'[{"Host":"a","Score":NaN},{"Host":"b","Score":1}]', "b"),
}


@pytest.mark.parametrize("quirk", SCORES)
def test_prioritize(quirk: str) -> None:
    reply, chosen = SCORES[quirk]
    for seed in range(3):
        nodes = World([node("a"), node("b")], seed=seed)
        decision = decide(nodes, pod("p"), lambda path, request: reply, **PRIORITIZE)
        assert decision.node_name == chosen


PRIORITIZE = {"filter_verb": "", "prioritize_verb": "prioritize", "weight": 1}


@pytest.mark.parametrize(
    "reply",
    [None, [], b"", {"Error": "broken"}, b"[", refusal(500, b""), refusal(404, b"null")],
    ids=["null", "empty", "no body", "an object, as datenlord", "no JSON", "500", "404 and null, as topolvm"],
)
def test_without_scores_the_pod_is_placed_all_the_same(reply: Any) -> None:
    say = reply if callable(reply) else lambda path, request: reply
    decision = decide(World([node("a"), node("b")]), pod("p"), say, **PRIORITIZE)
    assert decision.node_name in ("a", "b")
    assert decision.error is None


def test_a_problem_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    reply = [{"Host": name, "Score": 11 + i} for i, name in enumerate(NODES)]
    with caplog.at_level(logging.WARNING, "stowplan.extender"):
        decide(world(), pod("p"), lambda path, request: reply, **PRIORITIZE)
    (record,) = caplog.records
    assert "a score is outside 0 to 10, and counts as it is: 11 (extender=" in record.message


def full(name: str) -> dict[str, Any]:
    return pod(f"{name}-0", name, requests={"cpu": 4}, priority=1)


def victims(*nodes: str) -> dict[str, Any]:
    return {name: {"Pods": [{"UID": f"default/{name}-0"}], "NumPDBViolations": 0} for name in nodes}


GONE = "preemption: no candidate node for preemption"
PREEMPTS: dict[str, tuple[Any, str]] = {
    # name: (reply, the nominated node or how the message ends)
    "one node left": ({"NodeNameToMetaVictims": victims("b")}, "b"),
    "lower-case": (json.loads(json.dumps({"NodeNameToMetaVictims": victims("b")}).replace("UID", "uid").lower()), "b"),
    "null": (None, GONE),
    "an echo of nothing": ({"NodeNameToMetaVictims": None}, GONE),
    "full victims, which do not count": ({"NodeNameToVictims": {"b": {"Pods": []}}}, GONE),
    "null victims": (
        {"NodeNameToMetaVictims": {"b": None}},
        'preemption: expected at least one victim pod on node "b"',
    ),
    "a null pod": (
        {"NodeNameToMetaVictims": {"b": {"Pods": [None]}}},
        'preemption: expected at least one victim pod on node "b"',
    ),
    "a pod that is elsewhere": (
        {"NodeNameToMetaVictims": {"b": {"Pods": [{"UID": "default/a-0"}]}}},
        "claims to preempt pod (UID: &{default/a-0}) on node: b, but the pod is not found on that node",
    ),
    "an unknown node": ({"NodeNameToMetaVictims": {"z": {}}}, 'preemption: nodeinfo not found for node name "z"'),
    "an error as 500": (refusal(500, b"not ready"), "code 500: not ready"),
}


@pytest.mark.parametrize("quirk", PREEMPTS)
@pytest.mark.parametrize("cached", [True, False])
def test_preempt(quirk: str, cached: bool) -> None:
    reply, expected = PREEMPTS[quirk]
    say = reply if callable(reply) else lambda path, request: reply
    nodes = World([node("a"), node("b")], [full("a"), full("b")])
    asked: list[Any] = []
    verbs = {"filter_verb": "", "preempt_verb": "preempt", "node_cache_capable": cached}
    decision = decide(nodes, pod("p", requests={"cpu": 4}, priority=9), say, asked=asked, **verbs)
    ((path, request),) = asked
    assert path == "/preempt"
    offered = request["NodeNameToMetaVictims" if cached else "NodeNameToVictims"]
    uids = {
        name: [p["UID"] if cached else p["metadata"]["uid"] for p in each["Pods"]] for name, each in offered.items()
    }
    assert uids == {"a": ["default/a-0"], "b": ["default/b-0"]}
    assert request["NodeNameToVictims" if cached else "NodeNameToMetaVictims"] is None
    if len(expected) == 1:
        assert decision.nominated_node_name == expected
    else:
        assert decision.message.endswith(expected)
        assert not decision.nominated_node_name
