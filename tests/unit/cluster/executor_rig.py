"""An instruction executor, a scripted server, and the outcomes of requests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from tests.builders import pod
from tests.unit.cluster.scripted_server import Received, ScriptedServer, ok, refusal, serving

from stowplan import api
from stowplan.api import codec
from stowplan.cache import Cluster
from stowplan.cluster.event_recorder import EventRecorder
from stowplan.cluster.executor import InstructionExecutor
from stowplan.cluster.write_client import Writer
from stowplan.framework import Failure, Pod, Request

POD = "/api/v1/namespaces/default/pods/web"
UID = "default/web"
UNSCHEDULABLE = api.Condition(type="PodScheduled", status="False", reason="Unschedulable", message="no")
TARGET = api.Condition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler")
CONFLICT = (409, refusal("Conflict", 'pod web is already assigned to node "n1"'))
NOT_FOUND = (404, refusal("NotFound", 'pods "web" not found'))
INTERNAL = (500, refusal("InternalError", "etcd is ill"))
UNAVAILABLE = (503, refusal("ServiceUnavailable", "busy"))
OTHER_UID = {
    "PATCH": (422, refusal("Invalid", 'Pod "web" is invalid: metadata.uid: Invalid value: "x": field is immutable')),
    "DELETE": (409, refusal("Conflict", "the UID in the precondition (x) does not match the UID in record (y)")),
}
HANG_UP = (0, None)
DONE = (200, None)


def make_pod(name: str = "web") -> Pod:
    return Cluster().pod(codec.convert(api.Pod, pod(name)))


def script(*replies: tuple[int, Any]) -> Callable[[Received], None]:
    """Answers one request after the other, all further ones with success."""
    left = iter(replies)

    def answer(received: Received) -> None:
        status, body = next(left, DONE)
        if status:
            received.peer.reply(status, body)
        else:
            received.peer.transport.close()

    return answer


class ExecutorRig:
    """An executor with a server, and the answers that came."""

    def __init__(self, server: ScriptedServer, **more: Any) -> None:
        self.server = server
        self.writer = Writer(server.connection(), **more)
        self.recorder = EventRecorder(Writer(server.connection()))
        self.executor = InstructionExecutor(self.writer, self.recorder)
        self.answers: list[tuple[Request, Any]] = []

    def execute(self, *instructions: Any) -> None:
        for instruction in instructions:
            self.executor.execute(instruction, lambda request, outcome: self.answers.append((request, outcome)))

    async def end(self) -> list[Any]:
        """What was answered, when all is done."""
        assert await self.writer.drain(5)
        assert await self.recorder.drain(5)
        return [outcome for _, outcome in self.answers]

    async def settle(self, count: int) -> None:
        while len(self.server.received) < count:
            await asyncio.sleep(0)


@asynccontextmanager
async def executor_rig(answer: Callable[[Received], None] = ok, **more: Any) -> AsyncIterator[ExecutorRig]:
    async with serving(answer) as server:
        yield ExecutorRig(server, **more)


def reasons(outcomes: list[Any]) -> list[str | None]:
    return [outcome.reason if isinstance(outcome, Failure) else outcome for outcome in outcomes]
