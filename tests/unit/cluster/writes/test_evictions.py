from __future__ import annotations

from typing import Any

import pytest
from tests.unit.cluster.executor_rig import (
    DONE,
    HANG_UP,
    INTERNAL,
    NOT_FOUND,
    OTHER_UID,
    POD,
    TARGET,
    UID,
    UNAVAILABLE,
    executor_rig,
    make_pod,
    reasons,
    script,
)
from tests.unit.cluster.scripted_server import refusal, run

from stowplan.framework import Evict


@pytest.mark.parametrize(
    ("replies", "answer", "methods"),
    [
        ([], None, "PATCH DELETE"),
        ([NOT_FOUND], "NotFound", "PATCH"),
        ([OTHER_UID["PATCH"]], "NotFound", "PATCH"),
        ([DONE, NOT_FOUND], "NotFound", "PATCH DELETE"),
        ([DONE, OTHER_UID["DELETE"]], "NotFound", "PATCH DELETE"),
        ([INTERNAL, DONE, UNAVAILABLE], None, "PATCH PATCH DELETE DELETE"),
        ([HANG_UP, DONE, HANG_UP], None, "PATCH PATCH DELETE DELETE"),
        ([(403, refusal("Forbidden"))], "Forbidden", "PATCH"),
        ([DONE, *[INTERNAL] * 9], "InternalError", "PATCH DELETE DELETE DELETE DELETE"),
    ],
)
def test_evictions(replies: list[tuple[int, Any]], answer: str | None, methods: str) -> None:
    async def play() -> None:
        async with executor_rig(script(*replies)) as stage:
            stage.execute(Evict(make_pod(), TARGET))
            assert reasons(await stage.end()) == [answer]
            assert [each.method for each in stage.server.received] == methods.split()
            for received in stage.server.received:
                if received.method == "PATCH":
                    assert received.path == f"{POD}/status"
                    assert received.json["status"]["conditions"][0]["type"] == "DisruptionTarget"
                else:
                    assert received.path == POD
                    assert received.headers["content-type"] == "application/json"
                    assert received.json["preconditions"] == {"uid": UID}

    run(play())
