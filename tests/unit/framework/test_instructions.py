"""Instructions as values, and as something to wait for."""

from __future__ import annotations

from typing import Any

import pytest
from tests.builders import World, pod

from stowplan import api
from stowplan.errors import StowplanError
from stowplan.framework import (
    Bind,
    Call,
    CancelledError,
    EmitEvent,
    Evict,
    Failure,
    Instruction,
    PatchStatus,
    Request,
    Sleep,
    Together,
    Write,
)

POD = World().pod(pod("p"))
CONDITION = api.Condition(type="DisruptionTarget", status="True")
REQUESTS: list[Request] = [
    Bind(POD, "a"),
    Evict(POD, CONDITION),
    Write("patch", "PersistentVolume", api.PersistentVolume(), {"spec": {}}),
    Sleep(1.0),
    Together([]),
    Call("Mine", "permit", lambda: None),
]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda each: type(each).__name__)
def test_a_coroutine_hands_out_what_it_awaits_and_gets_the_answer(request_: Request) -> None:
    async def asking() -> Any:
        return ["answered", await request_]

    steps = asking()
    assert steps.send(None) is request_
    with pytest.raises(StopIteration) as end:
        steps.send("so")
    assert end.value.value == ["answered", "so"]


@pytest.mark.parametrize("instruction", [PatchStatus(POD, None, "a"), EmitEvent(POD, "Normal", "R", "A", "n")])
def test_others_are_simply_to_be_done(instruction: Instruction) -> None:
    assert not isinstance(instruction, Request)
    assert not hasattr(instruction, "on_answer")


def test_defaults() -> None:
    write = Write("create", "Pod", api.Pod())
    assert (write.changes, write.subresource) == (None, "")
    assert EmitEvent(POD, "Normal", "R", "A", "n").related is None
    together = Together([])
    assert (together.failed("anything"), together.cause) == (False, "")


def test_a_failure_tells_why() -> None:
    failure = Failure("no such pod", "NotFound")
    assert (failure.message, failure.reason) == ("no such pod", "NotFound")
    assert repr(failure) == "<Failure NotFound: no such pod>"
    assert Failure("lost").reason == ""


def test_cancelling_is_told_by_a_text() -> None:
    assert issubclass(CancelledError, StowplanError)
    assert str(CancelledError("preempted")) == "preempted"


@pytest.mark.parametrize("instruction", [*REQUESTS, PatchStatus(POD, None, None)], ids=lambda each: type(each).__name__)
def test_they_are_light(instruction: Instruction) -> None:
    assert not hasattr(instruction, "__dict__")
