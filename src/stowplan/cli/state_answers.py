"""Answers about the pods of a state, as `explain` and `why-not` print them."""

from __future__ import annotations

from msgspec.structs import replace

from stowplan import api
from stowplan.cli.state import State
from stowplan.framework.explanation import Explanation, PendingPods, PlacedExplanation, WhyNot
from stowplan.insight.slices import Slices
from stowplan.insight.workloads import WorkloadReference


class StateAnswers:
    """Each answer names the origin of the state."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._insight = state.insight

    def pending(self, namespace: str) -> Slices[PendingPods]:
        found = yield from self._insight.pending(namespace)
        return replace(found, as_of=self._state.as_of)

    def workload(self, reference: WorkloadReference, *, top: int = 5) -> Slices[PendingPods]:
        found = yield from self._insight.workload(reference, top=top)
        return replace(found, as_of=self._state.as_of)

    def explain(
        self, pod: str, namespace: str, *, top: int = 5, profile: str = "", details: bool = False
    ) -> Slices[Explanation | PlacedExplanation]:
        """Why a pod is pending, or why it is on its node."""
        state, insight = self._state, self._insight
        found = insight.find(pod, namespace)
        if found.placed:
            attempt = state.recorder.last_attempts.get(found.pod.uid)
            decision = None if attempt is None else attempt.detail
            placed = yield from insight.explain_placed(found.pod, top=top, profile=profile, decision=decision)
            return replace(placed, as_of=replace(state.as_of, recomputed=placed.as_of.recomputed))
        explanation = yield from insight.explain(found.pod, top=top, profile=profile, details=details)
        return replace(explanation if state.ran else self._without_queue(explanation), as_of=state.as_of)

    def why_not(self, pod: str, namespace: str, node: str, *, profile: str = "") -> Slices[WhyNot]:
        found, info = self._insight.find(pod, namespace), self._insight.node(node)
        answer = yield from self._insight.why_not(found.pod, info, profile=profile)
        return replace(answer, as_of=replace(self._state.as_of, recomputed=True))

    def _without_queue(self, explanation: Explanation) -> Explanation:
        """The explanation of a pod that was not tried here: its queue is that of another scheduler, and not known."""
        named = explanation.pod
        stored = self._state.simulation.api_server.get(api.Pod, named.name, named.namespace)
        since = "" if stored is None else stored.metadata.creation_timestamp or ""
        return replace(explanation, queue=None, pod=replace(named, since=since))
