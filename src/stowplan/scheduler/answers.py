"""Answers about pods from the state of a running scheduler, computed between its scheduling cycles.

An answer is a generator (`insight.slices`) that yields between pieces of work, which take 1 ms at most. The scheduling
loop runs one answer at a time, in slices of 2 ms; while pods are scheduled, at most a tenth of the loop's time. If a
node or the pod in question changes, the answer starts again.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from time import monotonic
from typing import Any, NamedTuple, Protocol

from stowplan import logs
from stowplan.engine import Engine
from stowplan.errors import StowplanError
from stowplan.framework.safe_text import raised
from stowplan.insight.slices import Slices
from stowplan.serving.insight_pages import NotReadyError, TooManyQuestionsError

log = logs.get(__name__)

ANSWER_SLICE_SECONDS = 0.002
"""Time for which an answer may hold the scheduling loop."""
PIECE_SECONDS = 0.001
"""Time that a piece of an answer may take: no piece starts later than this before the end of a slice."""
MAX_ANSWER_SHARE = 0.1
"""Share of the loop's time for answers while pods are scheduled."""
MAX_QUEUED_QUESTIONS = 16
MAX_RESTARTS = 3


class Question(Protocol):
    """A question about the state of the scheduler. All methods run on the engine's thread."""

    def begin(self) -> Slices[Any]:
        """Starts the answer; called again if the state has changed."""

    def revision(self) -> Hashable:
        """Changes if the answer has to start again."""


class Answer(NamedTuple):
    """The result of a question, and what it cost."""

    result: Any
    revision: int
    """Position in the log of the cache's changes."""
    seconds: float
    """CPU time of the engine's thread, with abandoned starts."""
    longest_slice_seconds: float
    restarts: int


class AnswerFailedError(StowplanError):
    """A bug in a plugin or in the explanation."""


class _Job:
    """A question that is being answered."""

    __slots__ = ("finish", "future", "longest", "question", "restarts", "revision", "seconds", "slices", "stale")

    def __init__(self, question: Question, finish: Callable[[Answer], Any]) -> None:
        self.question = question
        self.finish = finish
        self.future: Future[Any] = Future()
        self.slices: Slices[Any] | None = None
        self.revision: Hashable = None
        self.restarts = 0
        self.stale = False
        """Whether the state has changed since the last start."""
        self.seconds = 0.0
        self.longest = 0.0


class Answers:
    """Questions in the order of their arrival. `ask` is called on any thread, `run_slice` on the engine's."""

    def __init__(self, engine: Engine, wake: Callable[[], None], clock: Callable[[], float] = monotonic) -> None:
        """`wake` makes the scheduling loop call `run_slice`, from any thread."""
        self._engine = engine
        self._wake = wake
        self._clock = clock
        self._jobs: deque[_Job] = deque()
        self._lock = threading.Lock()
        self._due = 0.0

    def ask(
        self, question: Question, finish: Callable[[Answer], Any] = lambda answer: answer, *, first: bool = False
    ) -> Future[Any]:
        """Queues a question; the future gets the result of `finish`. Raises TooManyQuestionsError. Cancel the future to
        give up. `first` for a question of one short slice, which need not wait for the answer under way."""
        job = _Job(question, finish)
        with self._lock:
            if len(self._jobs) >= MAX_QUEUED_QUESTIONS:
                raise TooManyQuestionsError(f"{MAX_QUEUED_QUESTIONS} questions are waiting for an answer")
            if first:
                self._jobs.appendleft(job)
            else:
                self._jobs.append(job)
        self._wake()
        return job.future

    @property
    def waiting(self) -> bool:
        """Whether there are questions."""
        return bool(self._jobs)

    def run_slice(self, *, busy: bool) -> bool:
        """Runs the first question for one slice, if its turn has come; whether questions are left. `busy` if pods wait
        to be scheduled."""
        began = self._clock()
        if not self._jobs:
            return False
        if self._engine.suspended or (busy and began < self._due):
            return not self._engine.suspended
        job = self._jobs[0]
        finished = job.future.cancelled() or self._engine.examine(lambda: self._advance(job, began))
        spent = self._clock() - began
        self._due = began + spent / MAX_ANSWER_SHARE
        if finished:
            with self._lock:
                self._jobs.remove(job)
        return bool(self._jobs)

    def close(self) -> None:
        """Fails all questions: the scheduler stops."""
        with self._lock:
            jobs, self._jobs = self._jobs, deque()
        for job in jobs:
            _fail(job, NotReadyError("the scheduler is shutting down"))

    def _advance(self, job: _Job, began: float) -> bool:
        """Runs pieces of the answer until the slice is over; whether the question is done."""
        try:
            if not self._run_pieces(job, began):
                return False
        except StowplanError as error:
            _fail(job, error)
        except Exception as bug:
            if job.stale:  # A node or the pod is gone in the middle of the answer.
                _fail(job, NotReadyError("the cluster changes faster than the answer is computed; try again"))
                return True
            log.exception(bug, "Failed to answer a question")
            _fail(job, AnswerFailedError(raised(bug)))
        return True

    def _run_pieces(self, job: _Job, began: float) -> bool:
        slices = self._started(job)
        while True:
            try:
                next(slices)
            except StopIteration as end:
                self._count(job, began)
                position = self._engine.cluster.nodes.log.position
                _resolve(job, Answer(end.value, position, job.seconds, job.longest, job.restarts))
                return True
            if self._clock() - began >= ANSWER_SLICE_SECONDS - PIECE_SECONDS:
                # Checks alter nodes and put them back, so the revision after the slice is the one to compare with.
                job.revision = job.question.revision()
                self._count(job, began)
                return False

    def _started(self, job: _Job) -> Slices[Any]:
        """The answer under way, or a new one if the state has changed since its last slice."""
        if job.slices is None:
            job.slices = job.question.begin()
        elif job.revision != job.question.revision():
            if job.restarts < MAX_RESTARTS:
                job.restarts += 1
                job.slices.close()
                job.slices = job.question.begin()
            else:
                job.stale = True
        return job.slices

    def _count(self, job: _Job, began: float) -> None:
        spent = self._clock() - began
        job.seconds += spent
        job.longest = max(job.longest, spent)


def _resolve(job: _Job, answer: Answer) -> None:
    result = job.finish(answer)
    if job.future.set_running_or_notify_cancel():
        job.future.set_result(result)


def _fail(job: _Job, error: StowplanError) -> None:
    if job.future.set_running_or_notify_cancel():
        job.future.set_exception(error)
