"""Whatever an extender is sent, it answers in JSON, with the right status, and goes on.

STOWPLAN_MUTATIONS sets how many spoilt requests are sent.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
from typing import Any, ClassVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import node, pod
from tests.property.mutations import mutate
from tests.property.out_of_tree_plugins import Racks

from stowplan import api
from stowplan.api import codec
from stowplan.cache import Cluster
from stowplan.extender.handlers import GroupMember, Handlers, Verb, VerbReply
from stowplan.extender.policy import OperatorPolicy
from stowplan.extender.wire.node_lists import RawNode
from stowplan.extender.wire.server_requests import read_filter
from stowplan.framework import CycleState, Pod, Scope, Status

MUTATIONS = int(os.environ.get("STOWPLAN_MUTATIONS", "3000"))


class All(Racks):
    """Something to say to every verb."""

    name = "all"

    def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        return None

    def select_victims(self, state: CycleState, pod: Pod, victims: Any) -> Any:
        return {name: list(pods)[:1] for name, pods in victims.items()}


class Mirror:
    def __init__(self) -> None:
        self.cluster = Cluster()
        self.has_synced = True
        for number in range(4):
            self.cluster.put_node(codec.convert(api.Node, NODES[number]))

    def pending_pod(self, uid: str) -> Pod | None:
        return None


NODES = [
    node(f"n{number}", labels={"disk": "hdd" if number % 3 == 0 else "ssd", "rack": str(number)}) for number in range(6)
]
NAMES = [item["metadata"]["name"] for item in NODES]
FULL = {"metadata": {}, "items": NODES}
POD = pod("web", labels={"app": "a"}, requests={"cpu": "1"})
META = {name: {"Pods": [{"UID": "u1"}, {"UID": "u2"}], "NumPDBViolations": 1} for name in NAMES[:2]}
VICTIMS = {"n1": {"Pods": [pod("low"), pod("lower")], "NumPDBViolations": 0}}
REQUESTS: list[tuple[Verb, Any]] = [
    ("filter", {"Pod": POD, "Nodes": None, "NodeNames": NAMES}),
    ("filter", {"Pod": POD, "Nodes": FULL, "NodeNames": None}),
    ("filter", {"pod": POD, "nodes": FULL}),
    ("prioritize", {"Pod": POD, "Nodes": FULL, "NodeNames": None}),
    ("prioritize", {"Pod": POD, "Nodes": None, "NodeNames": NAMES}),
    ("preempt", {"Pod": POD, "NodeNameToVictims": None, "NodeNameToMetaVictims": META}),
    ("preempt", {"Pod": POD, "NodeNameToVictims": VICTIMS, "NodeNameToMetaVictims": None}),
    ("preempt", {"Pod": POD, "nodeToVictims": VICTIMS}),
    ("bind", {"PodName": "web", "PodNamespace": "default", "PodUID": "u", "Node": "n1"}),
]
BODIES = [(verb, json.dumps(value, separators=(",", ":")).encode()) for verb, value in REQUESTS]


def check(verb: Verb, reply: VerbReply) -> None:
    """The reply is one that every scheduler can read."""
    reply.body.decode()
    answer: Any = msgspec.json.decode(reply.body, type=msgspec.Raw)
    if reply.status != 200:
        assert reply.status in ((400, 500) if verb == "preempt" else (400,))
        assert list(msgspec.json.decode(reply.body)) == ["Error"]
        return
    if verb == "filter":
        found = msgspec.json.decode(reply.body, type=dict[str, msgspec.Raw])
        assert set(found) == {"Nodes", "NodeNames", "FailedNodes", "FailedAndUnresolvableNodes", "Error"}
        names = msgspec.json.decode(found["NodeNames"], type=list[str] | None)
        for key in ("FailedNodes", "FailedAndUnresolvableNodes"):
            reasons = msgspec.json.decode(found[key], type=dict[str, str])
            assert all(reasons.values())
        assert names is None or len(set(names)) == len(names)
    elif verb == "prioritize":
        scores = msgspec.json.decode(answer, type=list[dict[str, str | int]])
        assert all(type(entry["Score"]) is int and 0 <= entry["Score"] <= 10 for entry in scores)
        assert len({entry["Host"] for entry in scores}) == len(scores)
    elif verb == "preempt":
        nodes = msgspec.json.decode(answer)["NodeNameToMetaVictims"]
        assert all(type(victim["UID"]) is str for victims in nodes.values() for victim in victims["Pods"])
    else:
        assert type(msgspec.json.decode(answer)["Error"]) is str


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_spoilt_requests_are_answered() -> None:
    logging.getLogger("stowplan").setLevel(logging.CRITICAL)
    rng = random.Random(20)
    choice = [
        Handlers([GroupMember(All)]),
        Handlers([GroupMember(All)], OperatorPolicy(http_timeout=None), cluster_cache=Mirror()),
    ]
    statuses: dict[int, int] = {}

    async def scene() -> None:
        for number in range(MUTATIONS):
            verb, body = rng.choice(BODIES)
            spoilt = mutate(rng, body)
            handlers = choice[number % 2]
            reply = await handlers.bind(spoilt) if verb == "bind" else getattr(handlers, verb)(spoilt)
            try:
                check(verb, reply)
            except Exception as problem:
                raise AssertionError(
                    f"{verb} of {spoilt[:2000]!r} gave {reply.status} {reply.body[:2000]!r}"
                ) from problem
            statuses[reply.status] = statuses.get(reply.status, 0) + 1
        for verb, body in BODIES:
            reply = await choice[1].answer(verb, body)
            assert reply.status == 200
            assert verb == "bind" or not reply.facts.error

    try:
        asyncio.run(scene())
    finally:
        logging.getLogger("stowplan").setLevel(logging.NOTSET)
    assert statuses[200] > MUTATIONS / 5
    assert statuses[400] > MUTATIONS / 5


texts = st.text(max_size=12) | st.sampled_from(['},{"metadata":{"name":"', '"]},', "\\", 'x","y', "é"])
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
nodes = st.builds(
    lambda name, labels, more: {"metadata": {"name": name, "labels": labels}, "spec": {}, "extra": more},
    st.sampled_from(["a", "b", "node-1", "n.example.com"]) | texts,
    st.dictionaries(texts, texts, max_size=2),
    values,
)


@given(st.lists(nodes, max_size=6), st.lists(nodes, max_size=6), st.booleans())
def test_nodes_are_split_as_a_parser_would(before: list[Any], now: list[Any], shared: bool) -> None:
    encoded = [json.dumps(item, separators=(",", ":"), ensure_ascii=False).encode() for item in before + now]
    if shared:
        encoded[len(before) :] += encoded[: len(before)]
    known = {
        name.encode(errors="replace"): RawNode(name, raw)
        for item, raw in zip(before, encoded, strict=False)
        for name in (item["metadata"]["name"],)
    }
    listed = encoded[len(before) :]
    body = b'{"Pod":{},"Nodes":{"metadata":{},"items":[' + b",".join(listed) + b']},"NodeNames":null}'
    quick = read_filter(body, known)
    plain = read_filter(body.replace(b'{"Pod"', b'{"pod"', 1))
    assert quick.nodes is not None
    assert plain.nodes is not None
    assert [entry.raw for entry in quick.nodes] == listed == [entry.raw for entry in plain.nodes]
    assert [entry.name for entry in quick.nodes] == [entry.name for entry in plain.nodes]
    assert [entry.raw for entry in quick.fresh if known.get(entry.name.encode()) is entry] == []


class FreshRacks(Racks):
    scope: ClassVar[Scope] = "cluster"  # type: ignore[assignment]


changes = st.lists(
    st.tuples(
        st.lists(st.integers(0, 5), min_size=1, max_size=6),
        st.sampled_from(["ssd", "hdd"]),
        st.integers(0, 9),
        st.sampled_from(["a", "b"]),
    ),
    min_size=1,
    max_size=8,
)


@given(changes)
def test_kept_answers_are_those_of_plugins_asked_afresh(steps: list[tuple[list[int], str, int, str]]) -> None:
    keeping, fresh = Handlers([GroupMember(Racks)]), Handlers([GroupMember(FreshRacks)])
    current = {number: node(f"n{number}") for number in range(6)}
    for turn, (numbers, disk, rack, app) in enumerate(steps):
        current[numbers[0]] = node(f"n{numbers[0]}", labels={"disk": disk, "rack": str(rack)})
        asked = {"metadata": {}, "items": [current[number] for number in numbers]}
        request = {"Pod": pod(f"p{turn}", labels={"app": app}), "Nodes": asked, "NodeNames": None}
        body = json.dumps(request, separators=(",", ":")).encode()
        assert keeping.filter(body).body == fresh.filter(body).body
        assert keeping.prioritize(body).body == fresh.prioritize(body).body
