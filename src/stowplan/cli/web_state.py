"""A state that was read by a command, as the source of the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from stowplan.cli.state import RunOptions, State
from stowplan.cli.state_answers import StateAnswers
from stowplan.framework.explanation import PlacedExplanation
from stowplan.insight.finding import FoundPod
from stowplan.insight.placed import explain_decided
from stowplan.insight.slices import Slices
from stowplan.insight.workloads import WorkloadReference
from stowplan.runtime import Decision
from stowplan.simulator.clock import EPOCH
from stowplan.simulator.timeline import RunTimeline
from stowplan.web.history import HistoryRing
from stowplan.web.owner import Owner
from stowplan.web.source import Shown, StateSource
from stowplan.web.wire import SourceKind

T = TypeVar("T")

MAX_RECORDED_NODES = 200_000
"""Nodes of all decisions that are explained when they are made: about a second. Later placements are explained as if
the pod were placed again."""


def state_source(state: State, owner: Owner, epoch: str = "") -> StateSource:
    """The page's source for a state at rest."""
    source = StateSource(state.simulation.engine, state.insight, owner, _Answers(state, owner), _shown(state), epoch)
    if state.ran and state.recorder.timeline is not None:
        add_run(source, state.recorder.timeline)
    return source


def add_run(source: StateSource, timeline: RunTimeline) -> None:
    """Offers the run that led to the state of the source."""
    source.run = timeline
    source.history = HistoryRing(source.mirror.epoch)
    timeline.fill(source.history)
    source.shown.features += ["run", "history"]


def recorded_decisions() -> RunOptions:
    """Records the timeline, and explains decisions when they are made, as `explain` does for its pod, while that is
    cheap."""
    looked_at = 0

    def examine(decision: Decision, attempt: int) -> PlacedExplanation | None:
        nonlocal looked_at
        looked_at += len(decision.profile.cluster.nodes)
        return explain_decided(decision) if looked_at <= MAX_RECORDED_NODES else None

    return RunOptions(examine=examine, timeline=RunTimeline(by_attempts=True))


def _shown(state: State) -> Shown:
    kind: SourceKind = "simulation" if state.ran else "snapshot" if state.source.snapshot else "cluster"
    names = [name.rpartition("/")[2] or name for name in (state.source.snapshot, *state.source.names) if name]
    if state.live is not None and state.source.anonymize:
        names = [state.live.name]
    elif state.live is not None and state.source.cluster is not None:
        names.insert(0, state.live.name)
    timeline = state.recorder.timeline
    start = 0.0 if not state.ran or state.live is not None else EPOCH if timeline is None else timeline.start
    return Shown(" + ".join(names), kind, start, features=["stream", "queue"], config=state.config)


class _Answers:
    """The answers of `explain` and `why-not`."""

    async def about(self, namespace: str, pod: str, answer: Callable[[FoundPod], Slices[T]]) -> T:
        return await self._owner.answer(lambda: answer(self._insight.find(pod, namespace)))

    def __init__(self, state: State, owner: Owner) -> None:
        self._answers = StateAnswers(state)
        self._insight = state.insight
        self._owner = owner

    async def explain(self, namespace: str, pod: str, top: int) -> Any:
        return await self._owner.answer(lambda: self._answers.explain(pod, namespace, top=top))

    async def why_not(self, namespace: str, pod: str, node: str) -> Any:
        return await self._owner.answer(lambda: self._answers.why_not(pod, namespace, node))

    async def workload(self, reference: WorkloadReference) -> Any:
        return await self._owner.answer(lambda: self._answers.workload(reference))
