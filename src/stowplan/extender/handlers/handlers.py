"""The four verbs, behind one object."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic

from stowplan.errors import StowplanError
from stowplan.extender import deadline
from stowplan.extender.handlers import bind_verb, filter_verb, preempt_verb, prioritize_verb
from stowplan.extender.handlers.exclusive import OutOfTimeError
from stowplan.extender.handlers.handler_state import HandlerState
from stowplan.extender.handlers.node_results import printable
from stowplan.extender.handlers.policy import GroupMember, OperatorPolicy
from stowplan.extender.handlers.ports import Change, ClusterCache, ReservationPort
from stowplan.extender.handlers.reply import Verb, VerbReply
from stowplan.extender.handlers.threads import VerbThreads
from stowplan.extender.handlers.verb_call import VerbCall
from stowplan.extender.wire.errors import WireError

log = logging.getLogger("stowplan.extender")

_ANSWERS = {"filter": filter_verb.answer, "prioritize": prioritize_verb.answer, "preempt": preempt_verb.answer}
_FALLBACKS = {"filter": filter_verb.fallback, "prioritize": prioritize_verb.fallback, "bind": bind_verb.fallback}


class Handlers:
    """Answers requests with the help of plugins.

    `answer` is for transports: it works on a thread of its own, so that a plugin that hangs holds up nobody, and gives
    a fallback in time. `filter`, `prioritize` and `preempt` do the same on the caller's thread, however long it takes.
    Building raises PluginError or ConfigError where the plugins cannot be served.
    """

    def __init__(
        self,
        members: Sequence[GroupMember],
        policy: OperatorPolicy | None = None,
        *,
        mirror: ClusterCache | None = None,
        holding: ReservationPort | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._court = HandlerState(members, policy or OperatorPolicy(), mirror, holding, clock)
        self._clock = clock
        self._threads = VerbThreads()
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

    async def answer(self, verb: Verb, body: bytes | bytearray, received_at: float | None = None) -> VerbReply:
        """Answer a request that began to arrive at that moment by the clock. Never raises."""
        begun_at = self._clock() if received_at is None else received_at
        seconds = self.policy.budget
        deadline = None if seconds is None else begun_at + seconds
        if verb == "bind":
            return await self.bind(body, deadline)
        call = VerbCall(verb, body, deadline, self._clock)
        left = None if deadline is None else deadline - self._clock()
        try:
            reply = await self._threads.call(partial(self._work, call), left)
        except OutOfTimeError as problem:
            call = call.twin()
            call.facts.abandoned = True
            reply = self._fallback(call, problem)
        reply.facts.seconds = self._clock() - begun_at
        return reply

    def filter(self, body: bytes | bytearray, deadline: float | None = None) -> VerbReply:
        return self._work(VerbCall("filter", body, deadline, self._clock))

    def prioritize(self, body: bytes | bytearray, deadline: float | None = None) -> VerbReply:
        return self._work(VerbCall("prioritize", body, deadline, self._clock))

    def preempt(self, body: bytes | bytearray, deadline: float | None = None) -> VerbReply:
        return self._work(VerbCall("preempt", body, deadline, self._clock))

    async def bind(self, body: bytes | bytearray, deadline: float | None = None) -> VerbReply:
        call = VerbCall("bind", body, deadline, self._clock)
        begun_at = self._clock()
        try:
            async with asyncio.timeout(None if deadline is None else deadline - begun_at):
                reply = await bind_verb.answer(self._court, call, self._threads)
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

    def _work(self, call: VerbCall) -> VerbReply:
        begun_at = self._clock()
        token = deadline.deadline.set(call.deadline)
        try:
            reply = _ANSWERS[call.facts.verb](self._court, call)
        except Exception as problem:
            reply = self._fallback(call, problem)
        finally:
            deadline.deadline.reset(token)
        call.facts.seconds = self._clock() - begun_at
        return reply

    def _fallback(self, call: VerbCall, problem: Exception) -> VerbReply:
        """What is sent where there is no answer."""
        facts, court = call.facts, self._court
        facts.error = text = printable(" ".join(_text(problem).split()))
        if isinstance(problem, WireError):
            return VerbReply(400, court.problem(text), facts)
        log.warning("%s of pod %s failed: %s", facts.verb, facts.pod, text, exc_info=_unforeseen(problem))
        if facts.verb == "preempt":
            return preempt_verb.fallback(court, call, text, 503 if isinstance(problem, OutOfTimeError) else 500)
        return _FALLBACKS[facts.verb](court, call, text)


def _text(problem: Exception) -> str:
    return str(problem) if isinstance(problem, StowplanError) else f"{type(problem).__name__}: {problem}"


def _unforeseen(problem: Exception) -> Exception | None:
    """Something that is to be looked at in full: neither a plugin's doing nor the caller's."""
    return None if isinstance(problem, StowplanError) else problem
