"""A state that was read by a command, as the source of the page."""

from __future__ import annotations

from typing import Any

from stowplan.cli.state import State
from stowplan.cli.state_answers import StateAnswers
from stowplan.insight.workloads import WorkloadReference
from stowplan.simulator.simulation import EPOCH
from stowplan.web.owner import Owner
from stowplan.web.source import Shown, StateSource
from stowplan.web.wire import SourceKind


def state_source(state: State, owner: Owner) -> StateSource:
    """The page's source for a state at rest."""
    return StateSource(state.simulation.engine, state.insight, owner, _Answers(state, owner), _shown(state))


def _shown(state: State) -> Shown:
    kind: SourceKind = "simulation" if state.ran else "snapshot" if state.source.snapshot else "cluster"
    names = [name.rpartition("/")[2] or name for name in (state.source.snapshot, *state.source.names) if name]
    if state.live is not None and state.source.cluster is not None:
        names.insert(0, state.live.name)
    start = EPOCH if state.ran and state.live is None else 0.0
    return Shown(" + ".join(names), kind, start, features=["stream", "queue"], config=state.config)


class _Answers:
    """The answers of `explain` and `why-not`."""

    def __init__(self, state: State, owner: Owner) -> None:
        self._answers = StateAnswers(state)
        self._owner = owner

    async def explain(self, namespace: str, pod: str, top: int) -> Any:
        return await self._owner.answer(lambda: self._answers.explain(pod, namespace, top=top))

    async def why_not(self, namespace: str, pod: str, node: str) -> Any:
        return await self._owner.answer(lambda: self._answers.why_not(pod, namespace, node))

    async def workload(self, reference: WorkloadReference) -> Any:
        return await self._owner.answer(lambda: self._answers.workload(reference))
