"""The four verbs, behind one object."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic

from stowplan.errors import StowplanError
from stowplan.extender import budget
from stowplan.extender.handlers import binding, filtering, preempting, prioritizing
from stowplan.extender.handlers.call import Call
from stowplan.extender.handlers.court import Court
from stowplan.extender.handlers.gate import OutOfTimeError
from stowplan.extender.handlers.outcome import printable
from stowplan.extender.handlers.policy import Member, Policy
from stowplan.extender.handlers.ports import Change, Holding, Mirror
from stowplan.extender.handlers.reply import Reply, Verb
from stowplan.extender.handlers.threads import Threads
from stowplan.extender.wire.errors import WireError

log = logging.getLogger("stowplan.extender")

_ANSWERS = {"filter": filtering.answer, "prioritize": prioritizing.answer, "preempt": preempting.answer}
_FALLBACKS = {"filter": filtering.fallback, "prioritize": prioritizing.fallback, "bind": binding.fallback}


class Handlers:
    """Answers requests with the help of plugins.

    `answer` is for transports: it works on a thread of its own, so that a plugin that hangs holds up nobody, and gives
    a fallback in time. `filter`, `prioritize` and `preempt` do the same on the caller's thread, however long it takes.
    Building raises PluginError or ConfigError where the plugins cannot be served.
    """

    def __init__(
        self,
        members: Sequence[Member],
        policy: Policy | None = None,
        *,
        mirror: Mirror | None = None,
        holding: Holding | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._court = Court(members, policy or Policy(), mirror, holding, clock)
        self._clock = clock
        self._threads = Threads()
        self.policy = self._court.policy
        self.serves: frozenset[Verb] = self._court.serves
        """The verbs that any plugin has something to say to; `bind` also where there is somebody to bind pods."""
        self.warnings: tuple[str, ...] = self._court.warnings
        """What is to be told at the start: points of plugins that an extender cannot serve."""

    @property
    def stuck(self) -> int:
        """Requests that plugins hang in, and that others have overtaken."""
        return self._court.gate.stuck

    def apply(self, change: Change) -> None:
        """Change the mirror's cluster when no plugin looks at it: at once, or as soon as the one that does is done."""
        self._court.gate.apply(change)

    async def answer(self, verb: Verb, body: bytes | bytearray, received_at: float | None = None) -> Reply:
        """Answer a request that began to arrive at that moment by the clock. Never raises."""
        begun_at = self._clock() if received_at is None else received_at
        seconds = self.policy.budget
        deadline = None if seconds is None else begun_at + seconds
        if verb == "bind":
            return await self.bind(body, deadline)
        call = Call(verb, body, deadline, self._clock)
        left = None if deadline is None else deadline - self._clock()
        try:
            reply = await self._threads.call(partial(self._work, call), left)
        except OutOfTimeError as problem:
            call = call.twin()
            call.facts.abandoned = True
            reply = self._fallback(call, problem)
        reply.facts.seconds = self._clock() - begun_at
        return reply

    def filter(self, body: bytes | bytearray, deadline: float | None = None) -> Reply:
        return self._work(Call("filter", body, deadline, self._clock))

    def prioritize(self, body: bytes | bytearray, deadline: float | None = None) -> Reply:
        return self._work(Call("prioritize", body, deadline, self._clock))

    def preempt(self, body: bytes | bytearray, deadline: float | None = None) -> Reply:
        return self._work(Call("preempt", body, deadline, self._clock))

    async def bind(self, body: bytes | bytearray, deadline: float | None = None) -> Reply:
        call = Call("bind", body, deadline, self._clock)
        begun_at = self._clock()
        try:
            async with asyncio.timeout(None if deadline is None else deadline - begun_at):
                reply = await binding.answer(self._court, call, self._threads)
        except TimeoutError:
            call.facts.abandoned = True
            reply = self._fallback(call, OutOfTimeError("the pod was not bound in time"))
        except Exception as problem:
            reply = self._fallback(call, problem)
        call.facts.seconds = self._clock() - begun_at
        return reply

    def close(self) -> None:
        """End the threads that have nothing to do; a plugin that hangs is left to itself."""
        self._threads.close()

    def _work(self, call: Call) -> Reply:
        begun_at = self._clock()
        token = budget.deadline.set(call.deadline)
        try:
            reply = _ANSWERS[call.facts.verb](self._court, call)
        except Exception as problem:
            reply = self._fallback(call, problem)
        finally:
            budget.deadline.reset(token)
        call.facts.seconds = self._clock() - begun_at
        return reply

    def _fallback(self, call: Call, problem: Exception) -> Reply:
        """What is sent where there is no answer."""
        facts, court = call.facts, self._court
        facts.error = text = printable(" ".join(_text(problem).split()))
        if isinstance(problem, WireError):
            return Reply(400, court.problem(text), facts)
        log.warning("%s of pod %s failed: %s", facts.verb, facts.pod, text, exc_info=_unforeseen(problem))
        if facts.verb == "preempt":
            return preempting.fallback(court, call, text, 503 if isinstance(problem, OutOfTimeError) else 500)
        return _FALLBACKS[facts.verb](court, call, text)


def _text(problem: Exception) -> str:
    return str(problem) if isinstance(problem, StowplanError) else f"{type(problem).__name__}: {problem}"


def _unforeseen(problem: Exception) -> Exception | None:
    """Something that is to be looked at in full: neither a plugin's doing nor the caller's."""
    return None if isinstance(problem, StowplanError) else problem
