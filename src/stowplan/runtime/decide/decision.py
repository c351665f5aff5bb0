"""The result of a scheduling cycle, and its record.

Upstream: pkg/scheduler/schedule_one.go (ScheduleResult)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stowplan.framework import (
    CandidateRecord,
    Code,
    CycleState,
    DecisionRecord,
    FunnelStage,
    PluginScore,
    Pod,
    PreemptionRecord,
    Rejection,
    Slots,
    Status,
)
from stowplan.runtime.decide.diagnosis import Diagnosis
from stowplan.runtime.decide.fit_error import fit_error
from stowplan.runtime.points.cycle_error import CycleError
from stowplan.runtime.points.post_filter import PostFilterRound
from stowplan.runtime.preemption import Preemption
from stowplan.runtime.profile.handle import Evictions

if TYPE_CHECKING:
    from stowplan.runtime.decide.refusals import KeptRefusal
    from stowplan.runtime.profile.profile import Profile


class Decision:
    """The node of a pod; or "" with the reason in `message`, and perhaps the evictions that would help.

    `record()` describes the whole cycle. For a pod that fits it is computed by the call, which thus has to come before
    the cluster changes.
    """

    __slots__ = (
        "_rejectors",
        "diagnosis",
        "error",
        "evaluated",
        "feasible",
        "message",
        "node_name",
        "nominated_node_name",
        "pod",
        "preemption",
        "profile",
        "refusal",
        "state",
    )

    def __init__(
        self,
        profile: Profile,
        pod: Pod,
        node_name: str,
        feasible: int,
        evaluated: int,
        state: CycleState,
        diagnosis: Diagnosis | None = None,
    ) -> None:
        self.profile = profile
        self.pod = pod
        self.node_name = node_name
        self.feasible = feasible
        """The number of feasible nodes."""
        self.evaluated = evaluated
        """The number of nodes that were filtered."""
        self.message = ""
        self.error: Status | None = None
        self.preemption: Preemption | None = None
        self.nominated_node_name: str | None = None
        """The node that PostFilter proposes for a later attempt; "" clears a nomination, None leaves it as it is."""
        self.state = state
        """The state of the cycle, for the later extension points."""
        self.diagnosis = diagnosis
        self.refusal: KeptRefusal | None = None
        """The memory of this refusal, which holds for equal pods; None if there is none."""
        self._rejectors: tuple[frozenset[str], frozenset[str]] | None = None

    @classmethod
    def unschedulable(cls, diagnosis: Diagnosis, post_filtered: PostFilterRound) -> Decision:
        """No node is feasible, and PostFilter has run."""
        decision = cls(diagnosis.profile, diagnosis.pod, "", 0, len(diagnosis.examined), diagnosis.state, diagnosis)
        decision.message = fit_error(diagnosis, post_filtered.message)
        if post_filtered.result is not None:
            decision.nominated_node_name = post_filtered.result.nominated_node_name
        if isinstance(post_filtered.result, Evictions):
            decision.preemption = post_filtered.result.preemption
        return decision

    @classmethod
    def failed(cls, profile: Profile, pod: Pod, problem: Exception) -> Decision:
        """A plugin failed, or read state that no plugin of the configuration writes."""
        decision = cls(profile, pod, "", 0, 0, CycleState())
        decision.error = problem.status if isinstance(problem, CycleError) else Status(Code.Error, str(problem))
        decision.message = decision.error.message
        return decision

    @classmethod
    def broken(cls, profile: Profile, pod: Pod, text: str) -> Decision:
        """An internal error."""
        return cls.failed(profile, pod, CycleError(text))

    @property
    def rejectors(self) -> tuple[frozenset[str], frozenset[str]]:
        """The plugins that rejected a pod that fits no node: (UnschedulablePlugins, PendingPlugins)."""
        if self._rejectors is None:
            assert self.diagnosis is not None
            unschedulable, pending = self.diagnosis.rejectors()
            self._rejectors = frozenset(unschedulable), frozenset(pending)
        return self._rejectors

    def about(self, pod: Pod) -> Decision:
        """The same refusal of an equal pod."""
        same = Decision(self.profile, pod, "", 0, self.evaluated, self.state, self.diagnosis)
        same.message, same.nominated_node_name, same.refusal = self.message, self.nominated_node_name, self.refusal
        return same

    def record(self, attempt: int = 1) -> DecisionRecord:
        """The whole cycle as plain data."""
        more: dict[str, Any] = {"attempt": attempt, "node": self.node_name, "message": self.message}
        if self.error is not None:
            return DecisionRecord(pod=self.pod.key, uid=self.pod.uid, error=self.message, **more)
        diagnosis = self.diagnosis or Diagnosis(self.profile, self.pod).run()
        if len(diagnosis.feasible) and not diagnosis.scores:
            diagnosis.score()
        return record_of(diagnosis, self.preemption, self.pod, **more)


def best_slots(diagnosis: Diagnosis) -> Slots:
    """The feasible nodes with the highest total, the one that is chosen first."""
    best = diagnosis.feasible[diagnosis.total == diagnosis.total.max()]
    ranks = diagnosis.profile.ties.bits(best)
    order: Slots = best[np.lexsort((best, -ranks))]
    return order


def rejection(status: Status) -> Rejection:
    return Rejection(code=status.code.name, plugin=status.plugin, reasons=status.reasons)


def record_of(
    diagnosis: Diagnosis, preemption: Preemption | None, pod: Pod | None = None, **more: Any
) -> DecisionRecord:
    """A diagnosis as plain data, by default of its pod; `more` are further fields of the record."""
    pod = pod or diagnosis.pod
    infos = diagnosis.profile.cluster.nodes.infos
    names = {slot: info.name for slot in diagnosis.examined.tolist() if (info := infos[slot]) is not None}
    pre = diagnosis.pre_filtered
    # The pod's nominated node is filtered even if PreFilter left it out.
    rejected = [info for slot in np.flatnonzero(diagnosis.verdicts >= 0).tolist() if (info := infos[slot]) is not None]
    statuses = ((info.name, diagnosis.status_of(info.slot)) for info in rejected)
    if len(diagnosis.total):
        more["totals"], more["scores"] = _scores(diagnosis, names)
        tied = best_slots(diagnosis).tolist()
        more["tied"] = tuple(names[slot] for slot in tied) if len(tied) > 1 else ()
    return DecisionRecord(
        pod=pod.key,
        uid=pod.uid,
        scheduler_name=diagnosis.profile.name,
        nodes=len(diagnosis.profile.cluster.nodes),
        pre_filter=None if pre.status is None else rejection(pre.status),
        pre_filter_nodes=None if pre.names is None or pre.status is not None else tuple(sorted(pre.names)),
        funnel=tuple(FunnelStage(stage.plugin, stage.remaining) for stage in diagnosis.funnel()),
        rejected={name: rejection(status) for name, status in statuses if status is not None},
        feasible=tuple(sorted(names[slot] for slot in diagnosis.feasible.tolist())),
        preemption=None if preemption is None else preemption_record(preemption),
        **more,
    )


def _scores(diagnosis: Diagnosis, names: dict[int, str]) -> tuple[dict[str, int], dict[str, dict[str, PluginScore]]]:
    totals = {}
    scores: dict[str, dict[str, PluginScore]] = {}
    for position, slot in enumerate(diagnosis.feasible.tolist()):
        totals[names[slot]] = int(diagnosis.total[position])
        scores[names[slot]] = {
            plugin.plugin: PluginScore(
                raw=plugin.raw[position].item(),
                normalized=int(plugin.normalized[position]),
                weighted=plugin.weight * int(plugin.normalized[position]),
            )
            for plugin in diagnosis.scores
        }
    return totals, scores


def preemption_record(preemption: Preemption) -> PreemptionRecord:
    return PreemptionRecord(
        candidates=tuple(
            CandidateRecord(c.info.name, tuple(victim.key for victim in c.victims), c.violations)
            for c in sorted(preemption.candidates, key=lambda c: c.info.name)
        ),
        tied=tuple(sorted(c.info.name for c in preemption.tied)),
        chosen=preemption.node_name,
        message=preemption.message,
    )
