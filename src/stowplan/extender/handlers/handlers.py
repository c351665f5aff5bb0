"""Handlers: request bytes in, reply bytes out, for all four verbs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic

from stowplan import logs
from stowplan.errors import StowplanError
from stowplan.extender import deadline
from stowplan.extender.handlers import bind_verb, filter_verb, preempt_verb, prioritize_verb
from stowplan.extender.handlers.exclusive import Change
from stowplan.extender.handlers.group_member import GroupMember
from stowplan.extender.handlers.handler_state import ClusterCache, HandlerState, NamesWithoutCacheError, ReservationPort
from stowplan.extender.handlers.node_results import printable
from stowplan.extender.handlers.verb_call import Verb, VerbCall, VerbReply
from stowplan.extender.policy import OperatorPolicy
from stowplan.extender.wire.errors import WireError
from stowplan.runtime.out_of_tree.threads import OutOfTimeError, PluginThreads

log = logs.get(__name__)

_ANSWERS = {"filter": filter_verb.answer, "prioritize": prioritize_verb.answer, "preempt": preempt_verb.answer}
_FALLBACKS = {"filter": filter_verb.fallback, "prioritize": prioritize_verb.fallback, "bind": bind_verb.fallback}


_MAX_STUCK_REQUESTS = 64


class Handlers:
    """Answers requests by running plugins.

    `answer` is for transports: it runs the plugins on a thread, so that one that hangs does not block other requests,
    and returns a fallback before the deadline. `filter`, `prioritize` and `preempt` run on the caller's thread without
    a time limit. The constructor raises PluginError or ConfigError for plugins that cannot be served.
    """

    def __init__(
        self,
        members: Sequence[GroupMember],
        policy: OperatorPolicy | None = None,
        *,
        cluster_cache: ClusterCache | None = None,
        reservations: ReservationPort | None = None,
        binds: bool = False,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._state = HandlerState(members, policy or OperatorPolicy(), cluster_cache, reservations, clock, binds=binds)
        self._clock = clock
        self._threads = PluginThreads("extender", max_stuck=_MAX_STUCK_REQUESTS)
        self.policy = self._state.policy
        self.serves: frozenset[Verb] = self._state.serves
        """The verbs that any plugin implements; `bind` only if enabled by `binds`, and then also with access to the
        cluster."""
        self.warnings: tuple[str, ...] = self._state.warnings
        """To log at start-up: extension points of plugins that an extender cannot serve."""

    @property
    def stuck(self) -> int:
        """Requests whose plugins hang, and that other requests have overtaken."""
        return self._state.exclusive.stuck

    def apply(self, change: Change) -> None:
        """Change the cluster while no plugin reads it: at once, or as soon as the running request ends."""
        self._state.exclusive.apply(change)

    async def answer(self, verb: Verb, body: bytes | bytearray, received_at: float | None = None) -> VerbReply:
        """Answer a request whose first byte arrived at `received_at` (monotonic clock). Never raises."""
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
            call = call.snapshot()
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
                reply = await bind_verb.answer(self._state, call, self._threads)
        except TimeoutError:
            call.facts.abandoned = True
            reply = self._fallback(call, OutOfTimeError("the pod was not bound in time"))
        except Exception as problem:
            reply = self._fallback(call, problem)
        call.facts.seconds = self._clock() - begun_at
        return reply

    def close(self) -> None:
        """End the idle threads; threads whose plugin hangs are daemon threads."""
        self._threads.close()

    def _work(self, call: VerbCall) -> VerbReply:
        begun_at = self._clock()
        token = deadline.deadline.set(call.deadline)
        try:
            reply = _ANSWERS[call.facts.verb](self._state, call)
        except Exception as problem:
            reply = self._fallback(call, problem)
        finally:
            deadline.deadline.reset(token)
        call.facts.seconds = self._clock() - begun_at
        return reply

    def _fallback(self, call: VerbCall, problem: Exception) -> VerbReply:
        """The reply to a request that could not be answered."""
        facts, state = call.facts, self._state
        facts.error = text = printable(" ".join(_text(problem).split()))
        if isinstance(problem, WireError):
            return VerbReply(400, state.error_body(text), facts)
        if isinstance(problem, NamesWithoutCacheError):
            state.log_mismatch(text)
        else:
            trace = {} if isinstance(problem, StowplanError) else {"stacktrace": logs.stack_trace(problem)}
            log.warning("Request failed", verb=facts.verb, pod=logs.ref(facts.pod), err=text, **trace)
        if facts.verb == "preempt":
            return preempt_verb.fallback(state, call, text, 503 if isinstance(problem, OutOfTimeError) else 500)
        return _FALLBACKS[facts.verb](state, call, text)


def _text(problem: Exception) -> str:
    return str(problem) if isinstance(problem, StowplanError) else f"{type(problem).__name__}: {problem}"
