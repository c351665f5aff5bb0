"""An engine that checks its invariants after every call."""

from __future__ import annotations

from functools import partial
from typing import Any

from stowplan.engine.binding_cycle import BindingCycles
from stowplan.engine.engine import Engine
from stowplan.engine.invariants.accounting import Accounting, overfilled
from stowplan.engine.invariants.group_members import incomplete_gang, misgrouped
from stowplan.engine.invariants.queue_places import misplaced
from stowplan.engine.requeue import AttemptFailure
from stowplan.engine.state import Attempt
from stowplan.errors import StowplanError
from stowplan.framework import QueuedPodInfo, Request, Status
from stowplan.queue import GANG_PLUGIN
from stowplan.runtime import Decision
from stowplan.runtime.points.waiting_pods import WaitingPodEntry


class InvariantError(StowplanError):
    """The engine contradicts itself, and must not act on a cluster any longer."""


class CheckedBindingCycles(BindingCycles):
    """Records facts that cannot be reconstructed from the state after a call."""

    overfilled: tuple[str, ...] = ()
    """Decisions that put a pod where it does not fit, since the last check."""
    incomplete: tuple[str, ...] = ()
    """Members of incomplete gangs that Permit let pass, since the last check."""
    bound: frozenset[str] = frozenset()
    """The uids of pods that were bound and that no watch has reported so far."""

    def begin(self, queued: QueuedPodInfo, decision: Decision) -> None:
        self.overfilled += tuple(overfilled(self._state.cluster, decision))
        super().begin(queued, decision)

    def assume_member(self, queued: QueuedPodInfo, decision: Decision) -> Attempt:
        self.overfilled += tuple(overfilled(self._state.cluster, decision))
        return super().assume_member(queued, decision)

    def bind_straight(self, attempt: Attempt) -> None:
        if attempt.points.only_gang:
            self._check_gang(attempt, None)
        super().bind_straight(attempt)

    async def _bind(self, attempt: Attempt, waiting: WaitingPodEntry | None) -> AttemptFailure | None:
        if waiting is None:
            self._check_gang(attempt, None)
        elif list(waiting.reasons) == [GANG_PLUGIN]:
            waiting.when_settled(partial(self._check_gang, attempt))
        return await super()._bind(attempt, waiting)

    def _check_gang(self, attempt: Attempt, verdict: Status | None) -> None:
        if verdict is None:
            self.incomplete += tuple(incomplete_gang(self._state, attempt.pod))

    def _bound(self, attempt: Attempt) -> None:
        self.bound |= {attempt.pod.uid}
        super()._bound(attempt)


class CheckedEngine(Engine):
    """Raises InvariantError after a call that leaves the state inconsistent."""

    binding_cycles = CheckedBindingCycles
    _bindings: CheckedBindingCycles

    check_every = 1
    """Number of calls per check. Facts that are recorded between checks count at the next one."""
    _calls = 0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._accounting = Accounting(self._state.cluster)

    def put(self, item: Any, whole: Any = None) -> None:
        super().put(item, whole)
        self._check("put")

    def remove(self, item: Any) -> None:
        super().remove(item)
        self._check("remove")

    def tick(self) -> None:
        super().tick()
        self._check("tick")

    def answer(self, request: Request, outcome: Any) -> None:
        super().answer(request, outcome)
        self._check("answer")

    def schedule_one(self) -> bool:
        scheduled = super().schedule_one()
        self._check("schedule_one")
        return scheduled

    def problems(self) -> list[str]:
        """Every invariant that does not hold now."""
        bindings, state = self._bindings, self._state
        bindings.bound &= state.cluster.assumed
        recorded = (*bindings.overfilled, *bindings.incomplete)
        bindings.overfilled = bindings.incomplete = ()
        if self._cycles.has_trial:
            return [*recorded]
        places = misplaced(state, bindings.bound, self.suspended)
        return [*recorded, *places, *misgrouped(state), *self._accounting.miscounted()]

    def _check(self, call: str) -> None:
        self._calls += 1
        if self._calls % self.check_every:
            return
        if problems := self.problems():
            raise InvariantError(f"after {call}: " + "; ".join(problems))


def check(engine: Engine) -> list[str]:
    """Every invariant that does not hold in an engine now.

    An unchecked engine does not record which pods were bound: an assumed pod without an attempt counts as bound.
    """
    if isinstance(engine, CheckedEngine):
        return engine.problems()
    cluster = engine.cluster
    state = engine._state
    places = misplaced(state, cluster.assumed, engine.suspended)
    return [*places, *misgrouped(state), *Accounting(cluster).miscounted()]
