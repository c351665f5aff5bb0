"""Carries out the engine's instructions at the API server.

Upstream: pkg/scheduler/backend/api_dispatcher/api_dispatcher.go
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from stowplan.api.kinds import KINDS, Kind
from stowplan.cluster.event_recorder import EventRecorder
from stowplan.cluster.write_client import Writer
from stowplan.cluster.writes.bindings import Answer, BindingRequest
from stowplan.cluster.writes.evictions import EvictionRequest
from stowplan.cluster.writes.objects import write
from stowplan.cluster.writes.statuses import Statuses
from stowplan.framework import Bind, EmitEvent, Evict, Instruction, PatchStatus, RepeatEvent, Write


class InstructionExecutor:
    """Turns instructions into requests and their outcomes into answers, on the event loop's thread.

    Calls of plugins and extenders are carried out elsewhere.
    """

    def __init__(
        self,
        writer: Writer,
        recorder: EventRecorder,
        kinds: Mapping[str, Kind] = KINDS,
        on_status_lost: Callable[[str], None] = lambda uid: None,
    ) -> None:
        """`kinds` are the kinds by name, as the server has them. `on_status_lost` receives the uid of a pod whose
        status cannot be patched."""
        self._writer = writer
        self._statuses = Statuses(writer, on_status_lost)
        self._handlers: dict[type[Instruction], Callable[[Any, Answer], None]] = {
            Bind: self._bind,
            PatchStatus: lambda instruction, answer: self._statuses.patch(instruction),
            Evict: lambda instruction, answer: writer.submit(EvictionRequest(writer, instruction, answer)),
            EmitEvent: lambda instruction, answer: recorder.emit(instruction),
            RepeatEvent: lambda instruction, answer: recorder.repeat(instruction),
            Write: partial(write, writer, kinds),
        }

    @property
    def waiting(self) -> int:
        """Requests that wait for a connection, the rate limiter or a retry."""
        return self._writer.waiting

    def execute(self, instruction: Instruction, answer: Answer) -> None:
        """Start an instruction. A request is answered by `answer(instruction, outcome)`, usually later."""
        self._handlers[type(instruction)](instruction, answer)

    def _bind(self, instruction: Bind, answer: Answer) -> None:
        request = BindingRequest(self._writer, instruction, answer)
        uid = instruction.pod.uid
        self._statuses.drop_deferred(uid)
        if uid in self._statuses.running:
            self._statuses.bind_after(uid, partial(self._writer.submit, request))
        else:
            self._writer.submit(request)
