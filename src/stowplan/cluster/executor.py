"""Does what the engine asks for, on a real cluster."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from stowplan.cluster.event_recorder import EventRecorder
from stowplan.cluster.write_client import Writer
from stowplan.cluster.writes.bindings import Answer, BindingExchange
from stowplan.cluster.writes.evictions import EvictionExchange
from stowplan.cluster.writes.objects import write
from stowplan.cluster.writes.statuses import Statuses
from stowplan.framework import Bind, EmitEvent, Evict, Instruction, PatchStatus, Write


class InstructionExecutor:
    """Turns instructions into requests, and what becomes of those into answers, on the event loop's thread.

    What takes a thread or another server (calls of plugins and extenders) is not its business.
    """

    def __init__(self, writer: Writer, recorder: EventRecorder) -> None:
        self._writer = writer
        self._statuses = Statuses(writer)
        self._handlers: dict[type[Instruction], Callable[[Any, Answer], None]] = {
            Bind: self._bind,
            PatchStatus: lambda instruction, answer: self._statuses.patch(instruction),
            Evict: lambda instruction, answer: writer.submit(EvictionExchange(writer, instruction, answer)),
            EmitEvent: lambda instruction, answer: recorder.emit(instruction),
            Write: partial(write, writer),
        }

    @property
    def waiting(self) -> int:
        """Requests that wait for a connection, for the rate, or to be repeated."""
        return self._writer.waiting

    def execute(self, instruction: Instruction, answer: Answer) -> None:
        """Begin to carry out an instruction. A request is answered by `answer(instruction, outcome)`, mostly later."""
        self._handlers[type(instruction)](instruction, answer)

    def _bind(self, instruction: Bind, answer: Answer) -> None:
        exchange = BindingExchange(self._writer, instruction, answer)
        uid = instruction.pod.uid
        if uid in self._statuses.running:
            self._statuses.bind_after(uid, partial(self._writer.submit, exchange))
        else:
            self._writer.submit(exchange)
