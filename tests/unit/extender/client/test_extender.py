"""Every field of an extender's entry, and what happens when it is not there."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.builders import World, container, node, pod
from tests.unit.extender.client.fake_server import FakeServer, decide

from stowplan.config import Duration
from stowplan.config.types import Extender as Entry
from stowplan.config.types import ExtenderManagedResource
from stowplan.extender.client import (
    CallOutcome,
    ExtenderLimits,
    HttpExtender,
    build_extenders,
    kinds_kept,
    needs_victims,
)
from stowplan.extender.client.transport import ExtenderUnreachableError, HttpReply
from stowplan.framework import Failure
from stowplan.framework.extender import CIRCUIT_OPEN, UNREACHABLE, CallExtender, Filtered


def all_pass(path: str, request: Any) -> Any:
    return {"NodeNames": request["NodeNames"], "Nodes": request["Nodes"]}


@pytest.mark.parametrize(
    ("prefix", "verb", "path"),
    [
        ("", "filter", "/filter"),
        ("/", "filter", "/filter"),
        ("/api/scheduler//", "filter", "/api/scheduler/filter"),
        ("", "predicates/always_true", "/predicates/always_true"),
        ("/v1", "/filter", "/v1//filter"),
    ],
)
def test_url_prefix_and_verbs(prefix: str, verb: str, path: str) -> None:
    async def run() -> None:
        async with FakeServer(all_pass) as server:
            (extender,) = build_extenders([Entry(url_prefix=server.prefix + prefix, filter_verb=verb)])
            await extender.call(filtering(extender, World([node("a")])))
            await extender.close()
            assert [asked for asked, _ in server.asked] == [path]
            assert server.headers[0]["Content-Type"] == "application/json"

    asyncio.run(run())


def filtering(extender: HttpExtender, world: World, name: str = "p") -> CallExtender:
    return CallExtender(extender, "filter", world.pod(pod(name)), list(world.cluster.nodes))


@pytest.mark.parametrize("cached", [True, False])
def test_node_cache_capable(cached: bool) -> None:
    asked: list[Any] = []
    world = World([node("a"), node("b")])
    decision = decide(world, pod("p"), all_pass, asked=asked, node_cache_capable=cached)
    assert decision.node_name in ("a", "b")
    ((_, request),) = asked
    assert list(request) == ["Pod", "Nodes", "NodeNames"]
    assert request["Pod"]["metadata"]["name"] == "p"
    if cached:
        assert request["Nodes"] is None
        assert sorted(request["NodeNames"]) == ["a", "b"]
    else:
        assert request["NodeNames"] is None
        assert request["Nodes"]["metadata"] == {}
        assert sorted(item["metadata"]["name"] for item in request["Nodes"]["items"]) == ["a", "b"]
        assert request["Nodes"]["items"][0]["status"]["allocatable"]["cpu"] == "4"


@pytest.mark.parametrize(
    ("spec", "asked"),
    [
        ({}, False),
        ({"requests": {"example.com/gpu": 1}}, True),
        ({"containers": [{"name": "c", "resources": {"limits": {"example.com/gpu": "1"}}}]}, True),
        ({"initContainers": [{"name": "i", "resources": {"requests": {"example.com/gpu": "1"}}}]}, True),
        ({"requests": {"example.com/other": 1}}, False),
        ({"overhead": {"example.com/gpu": "1"}}, False),
    ],
)
def test_managed_resources(spec: dict[str, Any], asked: bool) -> None:
    if "requests" in spec:
        spec = {"containers": [container(**spec["requests"])]}
    nodes = World([node("a", extra={"example.com/gpu": "8", "example.com/other": "8"})])
    calls: list[Any] = []
    managed = (ExtenderManagedResource(name="example.com/gpu"),)
    decide(nodes, pod("p", **spec), all_pass, asked=calls, managed_resources=managed)
    assert bool(calls) == asked


@pytest.mark.parametrize("weight", [1, 3])
def test_weight(weight: int) -> None:
    fields = {"filter_verb": "", "prioritize_verb": "prioritize", "weight": weight}
    reply = [{"Host": "a", "Score": 4}]
    record = decide(World([node("a"), node("b")]), pod("p"), lambda path, request: reply, **fields).record()
    assert record.totals["a"] - record.totals["b"] == 4 * weight * 10


def test_a_single_node_is_not_scored() -> None:
    asked: list[Any] = []
    fields = {"filter_verb": "", "prioritize_verb": "prioritize", "weight": 1}
    decide(World([node("a")]), pod("p"), all_pass, asked=asked, **fields)
    assert not asked


@pytest.mark.parametrize("ignorable", [True, False])
def test_ignorable(ignorable: bool) -> None:
    decision = decide(World([node("a")]), pod("p"), lambda path, request: {"Error": "no"}, ignorable=ignorable)
    assert decision.node_name == ("a" if ignorable else "")
    assert decision.message == ("" if ignorable else "no")


def test_those_that_are_ignorable_come_last() -> None:
    entries = [Entry(url_prefix=name, ignorable=name.startswith("i")) for name in ("i1", "a", "i2", "b")]
    assert [extender.name for extender in build_extenders(entries)] == ["a", "b", "i1", "i2"]


def test_http_timeout() -> None:
    async def never(path: str, request: Any) -> None:
        await asyncio.sleep(0.2)

    decision = decide(World([node("a")]), pod("p"), never, http_timeout=Duration(50_000_000))
    prefix = decision.profile.extenders[0].name
    words = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
    assert decision.message == f'Post "{prefix}/filter": {words}'


def test_http_timeout_is_five_seconds_where_nothing_is_said() -> None:
    assert Entry().http_timeout.seconds == 5


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [({}, None), (None, None), ({"Error": ""}, None), (b"", None), ({"error": "taken"}, "taken"), ([], "json: cannot")],
)
def test_bind_verb(reply: Any, outcome: str | None) -> None:
    async def run() -> Any:
        async with FakeServer(lambda path, request: reply) as server:
            (extender,) = build_extenders([Entry(url_prefix=server.prefix, bind_verb="bind")])
            made = World().pod(pod("p"))
            answer = await extender.call(CallExtender(extender, "bind", made, "a"))
            await extender.close()
            body = {"PodName": "p", "PodNamespace": "default", "PodUID": "default/p", "Node": "a"}
            assert server.asked == [("/bind", body)]
            return answer

    answer = asyncio.run(run())
    if outcome is None:
        assert answer is None
    else:
        assert isinstance(answer, Failure)
        assert answer.message.startswith(outcome)


def test_whole_objects_are_kept_as_far_as_somebody_wants_them() -> None:
    def kept(**fields: Any) -> tuple[frozenset[str], bool]:
        extenders = build_extenders([Entry(url_prefix="http://x", **fields)])
        return kinds_kept(extenders), needs_victims(extenders)

    assert kinds_kept(()) == frozenset()
    assert kept(filter_verb="f", node_cache_capable=True) == ({"Pod"}, False)
    assert kept(filter_verb="f") == ({"Pod", "Node"}, False)
    assert kept(preempt_verb="p") == ({"Pod"}, True)
    assert kept(preempt_verb="p", node_cache_capable=True) == ({"Pod"}, False)
    assert kept(bind_verb="b") == ({"Pod"}, False)


# What it is reached by
class Wire:
    """A transport that answers from a list, and a clock."""

    def __init__(self, *answers: HttpReply | ExtenderUnreachableError, seconds: float = 1.0) -> None:
        self.answers = list(answers)
        self.seconds = seconds
        self.asked = 0
        self.now = 0.0
        self.timeouts: list[float | None] = []

    def clock(self) -> float:
        return self.now

    async def post(self, url: str, body: bytes, timeout: float | None) -> HttpReply:
        self.asked += 1
        self.timeouts.append(timeout)
        self.now += self.seconds
        answer = self.answers.pop(0)
        if isinstance(answer, ExtenderUnreachableError):
            raise answer
        return answer

    async def close(self) -> None: ...


PASSES = HttpReply(200, b'{"NodeNames":["a"]}')
DOWN, HUNG_UP = ExtenderUnreachableError("down"), ExtenderUnreachableError("EOF")


def calling(wire: Wire, times: int, verb: str = "filter") -> tuple[list[Any], list[CallOutcome]]:
    seen: list[CallOutcome] = []
    entry = Entry(url_prefix="http://x", filter_verb="f", bind_verb="b", node_cache_capable=True)
    extender = HttpExtender(entry, wire, wire.clock, seen.append)
    world = World([node("a")])
    made = world.pod(pod("p"))
    argument: Any = list(world.cluster.nodes) if verb == "filter" else "a"
    calls = [CallExtender(extender, verb, made, argument) for _ in range(times)]  # type: ignore[arg-type]
    return [asyncio.run(extender.call(each)) for each in calls], seen


def test_an_extender_that_lets_callers_wait_is_not_called_every_time() -> None:
    wire = Wire(DOWN, DOWN, DOWN, PASSES)
    answers, seen = calling(wire, 6)
    assert [getattr(each, "message", "passes") for each in answers] == ["down"] * 6
    assert [each.reason for each in answers] == [UNREACHABLE] * 3 + [CIRCUIT_OPEN] * 3
    assert wire.asked == 3
    assert [each.result for each in seen] == ["unreachable"] * 3 + ["spared"] * 3


def test_an_extender_that_refuses_at_once_is_called_every_time() -> None:
    wire = Wire(*[DOWN] * 6, PASSES, seconds=0.01)
    answers, seen = calling(wire, 7)
    assert [getattr(each, "reason", "passes") for each in answers] == [*[UNREACHABLE] * 6, "passes"]
    assert [each.result for each in seen] == ["unreachable"] * 6 + ["success"]


def test_when_the_pause_is_over_it_is_asked_again() -> None:
    wire = Wire(DOWN, DOWN, DOWN, PASSES, PASSES)
    entry = Entry(url_prefix="http://x", filter_verb="f", node_cache_capable=True)
    extender = HttpExtender(entry, wire, wire.clock)
    world = World([node("a")])
    for _ in range(4):
        asyncio.run(extender.call(filtering(extender, world)))
    assert extender.open_circuits == ["filter"]
    wire.now += 1.0
    for _ in range(2):
        assert isinstance(asyncio.run(extender.call(filtering(extender, world))), Filtered)
    assert extender.open_circuits == []


def test_a_refusal_is_an_answer_but_a_gateway_without_a_server_is_none() -> None:
    assert calling(wire := Wire(*[HttpReply(500, b"")] * 5), 5)[1][-1].result == "error"
    assert wire.asked == 5
    calling(wire := Wire(*[HttpReply(503, b"")] * 3), 5)
    assert wire.asked == 3
    calling(wire := Wire(*[HttpReply(503, b"")] * 5, seconds=0.01), 5)
    assert wire.asked == 5


@pytest.mark.parametrize("verb", ["filter", "bind"])
def test_a_request_is_not_repeated(verb: str) -> None:
    wire = Wire(HUNG_UP, PASSES)
    (answer,), seen = calling(wire, 1, verb)
    assert isinstance(answer, Failure)
    assert wire.asked == 1
    assert [each.result for each in seen] == ["unreachable"]


def test_bugs_are_answers_too() -> None:
    (answer,), _ = calling(Wire(), 1)
    assert isinstance(answer, Failure)
    assert answer.message == "internal error: IndexError: pop from empty list"


def test_large_bodies_go_through() -> None:
    nodes = World([node(f"n{i}", annotations={"pad": "x" * 6000}) for i in range(300)])
    asked: list[Any] = []
    assert decide(nodes, pod("p"), all_pass, asked=asked, node_cache_capable=False).node_name
    assert len(json.dumps(asked[0][1])) > 1 << 20


def test_a_slow_answer_is_not_waited_for_when_the_question_may_be_repeated() -> None:
    first = asyncio.Event()

    class Slow:
        def __init__(self) -> None:
            self.asked: list[tuple[str, float | None]] = []

        async def post(self, url: str, body: bytes, timeout: float | None) -> HttpReply:
            self.asked.append((url, timeout))
            if len(self.asked) == 1:
                await first.wait()
            return HttpReply(200, b"{}")

        async def close(self) -> None: ...

    async def run(verb: Any, argument: Any) -> list[tuple[str, float | None]]:
        transport = Slow()
        limits = ExtenderLimits({"filter": 0.5}, hedge_after=0.01)
        entry = Entry(url_prefix="http://x", filter_verb="f", bind_verb="b", http_timeout=Duration.of_seconds(2))
        extender = HttpExtender(entry, transport, limits=limits)
        if verb == "bind":
            asyncio.get_running_loop().call_later(0.1, first.set)
        await extender.call(CallExtender(extender, verb, World([node("a")]).pod(pod("p")), argument))
        return transport.asked

    assert asyncio.run(run("filter", [])) == [("http://x/f", 0.5)] * 2
    assert asyncio.run(run("bind", "a")) == [("http://x/b", 2.0)], "which may have been done"
