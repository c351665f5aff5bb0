"""A client of every age against replies that it can, and cannot, live with."""

from __future__ import annotations

from typing import Any

import pytest
from tests.extenders import WebExtender

from stowplan.testing.extender import (
    RELEASES,
    ExtenderFailedError,
    KubeSchedulerClient,
    SchedulerCrashedError,
    VictimsReply,
    sample_nodes,
    sample_pod,
)

POD, NODES = sample_pod(), sample_nodes(3)
VERBS = {"filter_verb": "filter", "prioritize_verb": "prioritize", "preempt_verb": "preempt", "bind_verb": "bind"}
ALL = list(RELEASES)


def saying(reply: Any) -> WebExtender:
    paths = [f"{version}/{verb}" for version in ("", "/v1") for verb in ("filter", "prioritize", "preempt", "bind")]
    return WebExtender(dict.fromkeys(paths, lambda request: reply))


def client(release: str, server: WebExtender, **fields: Any) -> KubeSchedulerClient:
    return KubeSchedulerClient(release, server.prefix, **{**VERBS, "node_cache_capable": True, **fields})


@pytest.mark.parametrize("release", ALL)
@pytest.mark.parametrize("cached", [True, False])
def test_requests(release: str, cached: bool) -> None:
    items = [{"metadata": {"name": "node-0"}}]
    with saying({"NodeNames": ["node-0"], "Nodes": {"items": items}}) as server:
        with client(release, server, node_cache_capable=cached) as asking:
            assert asking.filter(POD, NODES).passing == ["node-0"]
        ((path, request),) = server.asked
    if release == "v1.5":
        assert path == "/v1/filter"
        assert list(request) == ["pod", "nodes"]
        assert len(request["nodes"]["items"]) == 3
    else:
        assert path == "/filter"
        assert list(request) == ["Pod", "Nodes", "NodeNames"]
        assert (request["Nodes"] is None, request["NodeNames"] is None) == (cached, not cached)


@pytest.mark.parametrize(("release", "prefix"), [("v1.5", "//x"), ("v1.10", "/x")])
def test_prefixes(release: str, prefix: str) -> None:
    url = KubeSchedulerClient(release, "http://h/").url("x")
    assert url == ("http://h//v1/x" if release == "v1.5" else "http://h/x")


@pytest.mark.parametrize("release", ALL)
def test_scores_are_scaled(release: str) -> None:
    reply = [{"host": "node-0", "score": 3}, {"Host": "node-0", "Score": 1}, {"Host": "x", "Score": 9}]
    with saying(reply) as server, client(release, server, weight=2) as asking:
        scale = 10 if RELEASES[release].minor >= 17 else 1
        assert asking.prioritize(POD, NODES).scores == {"node-0": 8 * scale, "node-1": 0, "node-2": 0}
        assert asking.prioritize(POD, NODES[:1]).scores == {}
        assert len(server.asked) == 1


def test_a_float_loses_the_list() -> None:
    with saying([{"Host": "node-0", "Score": 7.0}, {"Host": "node-1", "Score": 1}]) as server:
        outcome = client("v1.36", server).prioritize(POD, NODES)
    assert outcome.scores == {}
    assert outcome.error.startswith("json: cannot unmarshal number 7.0")


@pytest.mark.parametrize("release", ["v1.10", "v1.15", "v1.20", "v1.36"])
def test_unknown_names(release: str) -> None:
    with saying({"NodeNames": ["x"], "Nodes": {"items": [{"metadata": {"name": "x"}}]}}) as server:
        expected = SchedulerCrashedError if release in ("v1.10", "v1.15") else ExtenderFailedError
        with pytest.raises(expected):
            client(release, server).filter(POD, NODES)
        assert client(release, server, node_cache_capable=False).filter(POD, NODES).passing == ["x"], "taken as it is"


@pytest.mark.parametrize("release", ALL)
def test_refused_nodes(release: str) -> None:
    reply = {"NodeNames": [], "FailedNodes": {"node-0": "a"}, "FailedAndUnresolvableNodes": {"node-1": "b"}}
    with saying(reply) as server:
        outcome = client(release, server).filter(POD, NODES)
    assert outcome.failed == {"node-0": "a"}
    if RELEASES[release].minor >= 23:
        assert outcome.candidates == {"node-0"}
        assert outcome.unresolvable == {"node-1": "b"}
    else:
        assert outcome.candidates == {"node-0", "node-1", "node-2"}
        assert outcome.unresolvable == {}


@pytest.mark.parametrize(("ignorable", "release"), [(False, "v1.36"), (True, "v1.36"), (True, "v1.10")])
def test_ignorable(ignorable: bool, release: str) -> None:
    with saying({"Error": "down"}) as server:
        asking = client(release, server, ignorable=ignorable)
        if ignorable and release == "v1.36":
            outcome = asking.filter(POD, NODES)
            assert (outcome.passing, outcome.ignored) == (["node-0", "node-1", "node-2"], "down")
        else:
            with pytest.raises(ExtenderFailedError, match="down"):
                asking.filter(POD, NODES)


@pytest.mark.parametrize("release", ["v1.5", "v1.36"])
def test_status(release: str) -> None:
    with saying((500, b'{"Nodes":{"items":[]}}')) as server:
        asking = client(release, server)
        if release == "v1.5":
            assert asking.filter(POD, NODES).passing == [], "nobody looked at it in those days"
        else:
            with pytest.raises(ExtenderFailedError, match="/filter, code 500"):
                asking.filter(POD, NODES)


OFFERS = {f"node-{i}": VictimsReply([sample_pod(f"v{i}")], i) for i in range(2)}


@pytest.mark.parametrize("cached", [True, False])
def test_preempt(cached: bool) -> None:
    reply = {"NodeNameToMetaVictims": {"node-1": {"Pods": [{"UID": "uid-v1"}], "NumPDBViolations": 4}}}
    with saying(reply) as server:
        left = client("v1.36", server, node_cache_capable=cached).preempt(POD, OFFERS)
        assert left == {"node-1": (("uid-v1",), 4)}
        assert client("v1.20", server).preempt(POD, OFFERS) == {"node-1": (("uid-v1",), 0)}
        assert client("v1.10", server).preempt(POD, OFFERS)["node-0"] == (("uid-v0",), 0), "not asked yet"
        request = server.of("/preempt")[0]
    told = request["NodeNameToMetaVictims" if cached else "NodeNameToVictims"]["node-1"]
    assert told["Pods"] == ([{"UID": "uid-v1"}] if cached else [sample_pod("v1")])
    assert told["NumPDBViolations"] == 1


@pytest.mark.parametrize(
    ("victims", "outcomes"),
    [
        (None, {"v1.20": SchedulerCrashedError, "v1.36": SchedulerCrashedError, "newer": SchedulerCrashedError}),
        ({"Pods": [None]}, {"v1.36": SchedulerCrashedError}),
        (
            {"Pods": []},
            {"v1.20": SchedulerCrashedError, "v1.29": ExtenderFailedError, "v1.36": ExtenderFailedError, "newer": None},
        ),
        ({"Pods": [{"UID": "x"}]}, {"v1.36": ExtenderFailedError}),
    ],
)
def test_victims_that_are_none(victims: Any, outcomes: dict[str, type[Exception] | None]) -> None:
    with saying({"NodeNameToMetaVictims": {"node-0": victims}}) as server:
        for release, expected in outcomes.items():
            if expected is None:
                assert client(release, server).preempt(POD, OFFERS) == {"node-0": ((), 0)}
            else:
                with pytest.raises(expected) as caught:
                    client(release, server).preempt(POD, OFFERS)
                assert type(caught.value) is expected


def test_bind() -> None:
    with saying({}) as server:
        client("v1.36", server).bind(POD, "node-0")
        expected = {"PodName": "conformance-0", "PodNamespace": "default", "PodUID": "uid-conformance-0"}
        assert server.asked == [("/bind", {**expected, "Node": "node-0"})]
    with saying((200, b"")) as server, pytest.raises(ExtenderFailedError, match="EOF"):
        client("v1.36", server).bind(POD, "node-0")


def test_nobody_there() -> None:
    with pytest.raises(ExtenderFailedError, match="Connection refused"):
        KubeSchedulerClient("v1.36", "http://127.0.0.1:1", filter_verb="filter").filter(POD, NODES)
