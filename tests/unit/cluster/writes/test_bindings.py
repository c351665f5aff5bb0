from __future__ import annotations

import random
from typing import Any

import pytest
from tests.unit.cluster.executor_rig import (
    CONFLICT,
    HANG_UP,
    INTERNAL,
    NOT_FOUND,
    POD,
    UID,
    UNAVAILABLE,
    executor_rig,
    make_pod,
    reasons,
    script,
)
from tests.unit.cluster.scripted_server import http, run

from stowplan.framework import Bind


class Hasty(random.Random):
    """Makes pauses between attempts short."""

    def random(self) -> float:
        return -9.5


def test_binding() -> None:
    async def play() -> None:
        async with executor_rig() as stage:
            request = Bind(make_pod(), "n1")
            stage.execute(request)
            assert await stage.end() == [None]
            assert stage.answers[0][0] is request
            (received,) = stage.server.received
            assert (received.method, received.path) == ("POST", f"{POD}/binding")
            assert received.json["metadata"] == {"name": "web", "namespace": "default", "uid": UID}
            assert received.json["target"] == {"kind": "Node", "name": "n1"}

    run(play())


def stored(uid: str, node_name: str) -> tuple[int, Any]:
    return 200, {"metadata": {"name": "web", "uid": uid}, "spec": {"nodeName": node_name, "containers": []}}


@pytest.mark.parametrize(
    ("replies", "answers", "asked"),
    [
        pytest.param([NOT_FOUND], ["NotFound"], "B", id="a refusal"),
        pytest.param([CONFLICT, stored(UID, "n2")], ["Conflict"], "BG", id="somebody else bound it"),
        pytest.param([CONFLICT, stored("other", "n1")], ["Conflict"], "BG", id="another pod of that name"),
        pytest.param([CONFLICT, (200, b"?")], ["Conflict"], "BG", id="nonsense"),
        pytest.param([CONFLICT, HANG_UP, stored(UID, "n1")], [None], "BGG", id="a second look"),
        pytest.param([CONFLICT, INTERNAL, stored(UID, "n2")], ["Conflict"], "BGG", id="a second look, elsewhere"),
        pytest.param([CONFLICT, *[INTERNAL] * 4], ["Conflict"], "BGGGG", id="no way to look"),
        pytest.param([HANG_UP], [None], "BB", id="the request got lost"),
        pytest.param([HANG_UP, CONFLICT, stored(UID, "n1")], [None], "BBG", id="the reply got lost"),
        pytest.param([HANG_UP, CONFLICT, stored(UID, "n2")], ["Conflict"], "BBG", id="lost, and bound elsewhere"),
        pytest.param([HANG_UP, NOT_FOUND], ["NotFound"], "BB", id="lost, and deleted"),
        pytest.param([INTERNAL, UNAVAILABLE], [None], "BBB", id="a passing trouble"),
        pytest.param([INTERNAL, CONFLICT, stored(UID, "n1")], [None], "BBG", id="a trouble that only seemed so"),
        pytest.param(
            [*[INTERNAL] * 4, stored(UID, "n1")], [None], "BBBBG", id="a trouble that stays, bound all the same"
        ),
        pytest.param([*[INTERNAL] * 4, stored(UID, "")], ["InternalError"], "BBBBG", id="a trouble that stays"),
        pytest.param([(400, b"what?")], ["BadRequest"], "B", id="not in Kubernetes' words"),
    ],
)
def test_bindings_that_go_wrong(replies: list[tuple[int, Any]], answers: list[str | None], asked: str) -> None:
    async def play() -> None:
        async with executor_rig(script(*replies)) as stage:
            stage.execute(Bind(make_pod(), "n1"))
            assert reasons(await stage.end()) == answers
            assert "".join("G" if each.method == "GET" else "B" for each in stage.server.received) == asked

    run(play())


def test_a_binding_of_unknown_fate_is_not_given_up(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("stowplan.cluster.writes.bindings.WARN_AFTER_SECONDS", 0.05)

    async def play() -> None:
        async with executor_rig(script(*[HANG_UP] * 6, CONFLICT, stored(UID, "n1")), rng=Hasty()) as stage:
            stage.execute(Bind(make_pod(), "n1"))
            assert reasons(await stage.end()) == [None]

    run(play())
    (message,) = caplog.messages
    assert message.startswith("Binding is in doubt, the request is repeated: ")
    assert message.endswith(" (pod=default/web, node=n1)")


def test_a_binding_of_unknown_fate_ends_as_a_timeout_when_nothing_is_sent_any_more() -> None:
    async def play() -> None:
        async with executor_rig(script(*[HANG_UP] * 50)) as stage:
            stage.execute(Bind(make_pod(), "n1"))
            assert not await stage.writer.drain(0.1)
            assert reasons([outcome for _, outcome in stage.answers]) == ["Timeout"]
            assert len(stage.server.received) > 1

    run(play())


def test_a_binding_that_was_surely_not_sent_fails_at_once() -> None:
    async def play() -> None:
        async with executor_rig() as stage:
            await stage.server.stop()
            stage.execute(Bind(make_pod(), "n1"))
            (failure,) = await stage.end()
            assert failure.reason == "Unreachable"
            assert failure.message == f"{stage.server.url}: Connection refused"

    run(play())


def test_replies_that_a_proxy_makes_up() -> None:
    async def play() -> None:
        answer = lambda received: received.peer.transport.write(http(403, b"<html>\n no </html>"))  # noqa: E731
        async with executor_rig(answer) as stage:
            stage.execute(Bind(make_pod(), "n1"))
            (failure,) = await stage.end()
            assert (failure.reason, failure.message) == ("Forbidden", "<html> no </html>")

    run(play())
