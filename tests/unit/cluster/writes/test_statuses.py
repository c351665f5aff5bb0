from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.unit.cluster.executor_rig import (
    CONFLICT,
    HANG_UP,
    INTERNAL,
    NOT_FOUND,
    OTHER_UID,
    POD,
    UID,
    UNAVAILABLE,
    UNSCHEDULABLE,
    executor_rig,
    make_pod,
    script,
)
from tests.unit.cluster.scripted_server import Received, ok, refusal, run

from stowplan import api
from stowplan.cluster.writes import statuses
from stowplan.framework import Bind, PatchStatus


@pytest.mark.parametrize(
    ("replies", "attempts"),
    [
        ([], 1),
        ([INTERNAL, UNAVAILABLE, CONFLICT], 4),
        ([INTERNAL] * 9, 4),
        ([HANG_UP, HANG_UP], 3),
        ([NOT_FOUND], 1),
        ([OTHER_UID["PATCH"]], 1),
        ([(403, refusal("Forbidden"))], 1),
    ],
)
def test_status_patches_are_tried_as_often_as_kube_scheduler_does(
    replies: list[tuple[int, Any]], attempts: int
) -> None:
    async def play() -> None:
        async with executor_rig(script(*replies)) as stage:
            stage.execute(PatchStatus(make_pod(), UNSCHEDULABLE, "n1"))
            assert await stage.end() == []
            assert stage.server.asked == [f"PATCH {POD}/status"] * attempts
            (received, *_) = stage.server.received
            assert received.headers["content-type"] == "application/strategic-merge-patch+json"
            assert received.json["metadata"] == {"uid": UID}
            assert received.json["status"]["nominatedNodeName"] == "n1"

    run(play())


def test_patches_of_a_pod_keep_their_order_and_wait_as_one() -> None:
    held: list[Received] = []
    later = api.Condition(type="PodScheduled", status="False", reason="Unschedulable", message="later")

    async def play() -> None:
        async with executor_rig(held.append) as stage:
            web = make_pod()
            stage.execute(PatchStatus(web, UNSCHEDULABLE, "n1"), PatchStatus(web, later, None))
            stage.execute(PatchStatus(web, None, ""), PatchStatus(make_pod("other"), None, "n1"))
            await stage.settle(2)
            stage.server.answer = ok
            for received in held:
                received.peer.reply(200)
            await stage.end()
            last = stage.server.received[2].json["status"]
            assert last["conditions"][0]["message"] == "later"
            assert last["nominatedNodeName"] is None
            assert len(stage.server.received) == 3

    run(play())


def test_a_binding_waits_for_the_patch_under_way_and_makes_others_moot() -> None:
    held: list[Received] = []

    async def play() -> None:
        async with executor_rig(held.append) as stage:
            web = make_pod()
            stage.execute(PatchStatus(web, UNSCHEDULABLE, ""), PatchStatus(web, None, "n1"), Bind(web, "n1"))
            stage.execute(PatchStatus(web, None, "n2"))
            await stage.settle(1)
            await asyncio.sleep(0.02)
            assert stage.server.asked == [f"PATCH {POD}/status"]
            stage.server.answer = ok
            held[0].peer.reply(*UNAVAILABLE)
            assert await stage.end() == [None]
            assert stage.server.asked == [f"PATCH {POD}/status", f"POST {POD}/binding"]

    run(play())


def other_message(message: str, pod_name: str = "web", **more: bool) -> PatchStatus:
    condition = api.Condition(type="PodScheduled", status="False", reason="Unschedulable", message=message)
    return PatchStatus(make_pod(pod_name), condition, None, is_repeated=True, **more)


def messages(received: list[Received]) -> list[str]:
    return [each.json["status"]["conditions"][0]["message"] for each in received]


def test_other_messages_are_limited_to_a_rate_and_the_last_one_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statuses, "MAX_REPEAT_BURST", 1)

    async def play() -> None:
        async with executor_rig(ok) as stage:
            stage.execute(other_message("first", "other"))
            stage.execute(*(other_message(message) for message in ("a", "b", "c")))
            stage.execute(PatchStatus(make_pod("new"), UNSCHEDULABLE, None))
            while len(stage.server.received) < 2:
                await asyncio.sleep(0.005)
            assert UNSCHEDULABLE.message in messages(stage.server.received), "a first condition does not wait"
            while len(stage.server.received) < 3:
                await asyncio.sleep(0.005)
            assert messages(stage.server.received)[-1] == "c"

    run(play())


def test_a_message_that_returns_before_another_was_written_needs_no_patch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statuses, "MAX_REPEAT_BURST", 1)
    monkeypatch.setattr(statuses, "REPEATS_PER_SECOND", 10.0)

    async def play() -> None:
        async with executor_rig(ok) as stage:
            stage.execute(other_message("first", "other"))
            stage.execute(other_message("a"), other_message("before", restores=True))
            stage.execute(other_message("b", "bound"), Bind(make_pod("bound"), "n1"))
            await asyncio.sleep(0.5)
            asked = [each for each in stage.server.received if each.method == "PATCH"]
            assert messages(asked) == ["first"]

    run(play())


def test_a_patch_that_fails_for_good_is_reported() -> None:
    async def play() -> None:
        async with executor_rig(script((403, refusal("Forbidden")))) as stage:
            lost: list[str] = []
            patches = statuses.Statuses(stage.writer, lost.append)
            patches.patch(PatchStatus(make_pod(), UNSCHEDULABLE, None))
            while not lost:
                await asyncio.sleep(0.005)
            assert lost == [UID]

    run(play())


def test_deferred_patches_are_bounded_and_the_oldest_is_reported_as_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statuses, "MAX_REPEAT_BURST", 1)
    monkeypatch.setattr(statuses, "REPEATS_PER_SECOND", 10.0)
    monkeypatch.setattr(statuses, "MAX_DEFERRED_STATUSES", 2)

    async def play() -> None:
        async with executor_rig(ok) as stage:
            lost: list[str] = []
            patches = statuses.Statuses(stage.writer, lost.append)
            waiting = [other_message(name, name) for name in ("sent", "a", "b", "c")]
            for each in waiting:
                patches.patch(each)
            assert lost == [waiting[1].pod.uid]
            while len(stage.server.received) < 3:
                await asyncio.sleep(0.005)
            assert messages(stage.server.received) == ["sent", "b", "c"]

    run(play())
