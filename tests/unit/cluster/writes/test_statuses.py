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
