"""What-if on the page: one question at a time, computed on a copy of the state by the process that serves the page.

A question becomes a run; the page polls the run until it is done. The computation itself is the host's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from stowplan import logs
from stowplan.errors import StowplanError
from stowplan.serving.insight_pages import TooManyQuestionsError
from stowplan.web.wire import History, NodeMap, TimeUnit, WireStruct

log = logs.get(__name__)

TIME_LIMIT_SECONDS = 120.0
MAX_CHANGES = 32
MAX_KEPT_RUNS = 16


class ChangeOption(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An option of `stowplan what-if` with its values: `drain` of a node, `add` of a number and a node like it."""

    option: str
    value: list[str]


class WhatIfRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of POST `what-if`."""

    changes: list[ChangeOption]


class StartedRun(WireStruct, frozen=True):
    """The answer to POST `what-if`."""

    id: str


class RunMaps(WireStruct, frozen=True):
    """`run/ID/maps`: the nodes of both runs, without and with the changes; null where they are not known."""

    before: NodeMap | None
    after: NodeMap | None
    histories: tuple[History, History] | None = None
    """Of both runs over time, if they were recorded."""
    unit: TimeUnit = "seconds"
    """Of the times in `histories`."""


class ComparedRuns(WireStruct, frozen=True, kw_only=True):
    """`run/ID`: two runs and their difference, or the progress towards it."""

    id: str
    kind: Literal["what-if", "diff"] = "what-if"
    state: Literal["running", "done", "failed"]
    command: str
    """The equivalent command line."""
    attempts: int = 0
    """Scheduling attempts so far."""
    message: str = ""
    """Why the run failed."""
    before: str = "without the changes"
    after: str = "with the changes"
    sentence: str = ""
    answer: Any = None
    """As `stowplan what-if -o json` and `stowplan diff -o json` print it."""
    text: tuple[str, ...] = ()
    """As the command prints it."""


class WhatIfResult(NamedTuple):
    """The answer of a computation."""

    sentence: str
    answer: Any
    text: tuple[str, ...]
    maps: RunMaps


class RunTooLongError(StowplanError):
    """The computation exceeds its time limit."""


class WhatIfHost(Protocol):
    """Computes answers; `compute` runs on a thread of its own."""

    def check(self, changes: list[ChangeOption]) -> None:
        """Raises StowplanError for changes that are not valid."""
        ...

    def command(self, changes: list[ChangeOption]) -> str:
        """The equivalent command line."""
        ...

    def compute(self, changes: list[ChangeOption], on_step: Callable[[], None]) -> WhatIfResult:
        """Calls `on_step` after every attempt, which raises when the time is over."""
        ...


class WhatIfRuns:
    """The runs of one server. Used on the server's event loop."""

    def __init__(self, host: WhatIfHost, time_limit: float = TIME_LIMIT_SECONDS) -> None:
        self._host = host
        self._time_limit = time_limit
        self._runs: dict[str, ComparedRuns] = {}
        self._maps: dict[str, msgspec.Raw] = {}
        """As JSON, which takes less memory than columns."""
        self._attempts = 0
        self._task: asyncio.Task[None] | None = None
        self._number = 0

    def start(self, body: bytes) -> StartedRun:
        """Raises StowplanError for a question that is not valid, and while another one is computed."""
        try:
            request = msgspec.json.decode(body, type=WhatIfRequest)
        except msgspec.DecodeError as problem:
            raise InvalidQuestionError(str(problem)) from problem
        if not request.changes or len(request.changes) > MAX_CHANGES:
            raise InvalidQuestionError(f"1 to {MAX_CHANGES} changes are expected")
        if self._task is not None and not self._task.done():
            raise TooManyQuestionsError("another what-if is being computed")
        try:
            self._host.check(request.changes)
        except StowplanError as problem:
            raise InvalidQuestionError(str(problem)) from problem
        self._number += 1
        run = ComparedRuns(id=str(self._number), state="running", command=self._host.command(request.changes))
        self._runs[run.id] = run
        for old in list(self._runs)[:-MAX_KEPT_RUNS]:
            del self._runs[old]
            self._maps.pop(old, None)
        self._task = asyncio.create_task(self._compute(run, request.changes))
        return StartedRun(id=run.id)

    def find(self, run_id: str) -> ComparedRuns | None:
        run = self._runs.get(run_id)
        if run is not None and run.state == "running":
            return msgspec.structs.replace(run, attempts=self._attempts)
        return run

    def maps(self, run_id: str) -> msgspec.Raw | None:
        return self._maps.get(run_id)

    def finished(self) -> list[ComparedRuns]:
        """The runs that can be compared, without their answers."""
        done = (run for run in self._runs.values() if run.state == "done")
        return [msgspec.structs.replace(run, answer=None, text=()) for run in done]

    async def _compute(self, run: ComparedRuns, changes: list[ChangeOption]) -> None:
        self._attempts, deadline = 0, monotonic() + self._time_limit

        def on_step() -> None:
            self._attempts += 1
            if monotonic() > deadline:
                raise RunTooLongError(f"the run takes longer than {self._time_limit:g} s; use the command line")

        try:
            result = await asyncio.to_thread(self._host.compute, changes, on_step)
            self._maps[run.id] = msgspec.Raw(await asyncio.to_thread(msgspec.json.encode, result.maps))
        except Exception as problem:
            message = str(problem)
            if not isinstance(problem, StowplanError):
                log.exception(problem, "Unexpected problem of a what-if")
                message = "an unexpected error occurred; the server's log has the details"
            self._runs[run.id] = msgspec.structs.replace(run, state="failed", message=message)
            return
        self._runs[run.id] = msgspec.structs.replace(
            run, state="done", attempts=self._attempts, sentence=result.sentence, answer=result.answer, text=result.text
        )


class InvalidQuestionError(StowplanError):
    """A question that cannot be computed."""
