"""Preemption for one pod: eligibility, the nodes to dry-run, the chosen candidate.

Upstream: pkg/scheduler/framework/preemption/preemption.go (Preempt, findCandidates)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stowplan.framework import Code, Pod, Slots
from stowplan.plugins.base import VictimRules
from stowplan.runtime.decide.fit_error import histogram, none_available
from stowplan.runtime.preemption.demands import demands_of
from stowplan.runtime.preemption.dry_run import NO_VICTIMS, PreemptionCandidate, PreemptionCandidates
from stowplan.runtime.preemption.iterate import one_by_one, together
from stowplan.runtime.preemption.select_candidate import best

if TYPE_CHECKING:
    from stowplan.runtime.decide.diagnosis import Diagnosis
    from stowplan.runtime.profile.profile import Profile

NOT_HELPFUL = "Preemption is not helpful for scheduling"
NEVER = "not eligible due to preemptionPolicy=Never."
TERMINATING = "not eligible due to a terminating pod on the nominated node."


class Preemption(NamedTuple):
    """The result of a search."""

    candidates: Sequence[PreemptionCandidate]
    tied: Sequence[PreemptionCandidate]
    """The best candidates, which are equal by all criteria."""
    chosen: PreemptionCandidate | None
    message: str
    """Why there is no candidate; empty if there is one."""

    @property
    def node_name(self) -> str:
        return "" if self.chosen is None else self.chosen.info.name

    @property
    def victims(self) -> tuple[Pod, ...]:
        return () if self.chosen is None else self.chosen.victims


def eligibility(diagnosis: Diagnosis, rules: VictimRules | None = None) -> str:
    """Why the pod may not preempt others; empty if it may."""
    pod = diagnosis.pod
    if pod.spec.preemption_policy == "Never":
        return NEVER
    if not pod.nominated_node_name:
        return ""
    cluster = diagnosis.profile.cluster
    info = cluster.nodes.get(pod.nominated_node_name)
    if info is None:
        return ""
    status = diagnosis.status_of(info.slot) or diagnosis.absent
    if status is not None and status.code == Code.UnschedulableAndUnresolvable:
        return ""
    if rules is not None:
        leaving = [p for p in info.pods.values() if p.terminating or p.uid in cluster.evicted]
        return TERMINATING if any(rules.is_awaited(pod, p) for p in leaving) else ""
    is_awaited = any(
        (p.being_preempted or p.uid in cluster.evicted) and p.priority < pod.priority for p in info.pods.values()
    )
    return TERMINATING if is_awaited else ""


def search(diagnosis: Diagnosis, limit: tuple[int, int] | None, rules: VictimRules | None = None) -> Preemption:
    """Dry-run nodes where preemption might help.

    `limit` is (percentage, absolute), the number of candidates that are enough, from a random node on; None dry-runs
    every node. `rules` replace those of DefaultPreemption.
    """
    profile = diagnosis.profile
    slots = nodes_where_preemption_might_help(diagnosis)
    tried = enough = len(slots)
    if rules is None and min(profile.cluster.priorities, default=inf) >= diagnosis.pod.priority:
        return Preemption(
            (), (), None, _no_candidates(profile, tried, Counter(dict.fromkeys(NO_VICTIMS.reasons, tried)))
        )
    demands = None
    if limit is not None and tried:
        enough = min(tried, max(tried * limit[0] // 100, limit[1]))
        start = profile.rng.randrange(tried)
        slots = np.concatenate((slots[start:], slots[:start]))
        if not diagnosis.plain and rules is None:
            demands = demands_of(profile, diagnosis.state, diagnosis.pod)
    if demands is None:
        found = one_by_one(diagnosis, slots, enough, rules)
    else:
        found = together(diagnosis, demands, slots, enough)
    if not found.candidates:
        if found.errors:
            raise found.errors[0]
        return Preemption((), (), None, _no_candidates(profile, tried, found.failures))
    tied = best(found.costs)
    chosen = found.candidates[profile.rng.choice(tied)]
    return Preemption(found.candidates, PreemptionCandidates(tied, found.candidates.__getitem__), chosen, "")


def nodes_where_preemption_might_help(diagnosis: Diagnosis) -> Slots:
    """Nodes with a status that evictions may change."""
    absent = diagnosis.absent
    resolvable = [status.code == Code.Unschedulable for status in diagnosis.statuses]
    # The last entry is for slots without a verdict, -1.
    resolvable.append(absent is not None and absent.code == Code.Unschedulable)
    mask = (
        np.array(resolvable).take(diagnosis.verdicts) & diagnosis.profile.cluster.nodes.alive[: len(diagnosis.verdicts)]
    )
    return np.flatnonzero(mask)


def _no_candidates(profile: Profile, tried: int, failures: Counter[str]) -> str:
    total = len(profile.cluster.nodes)
    counts = +failures
    if total > tried:
        counts[NOT_HELPFUL] += total - tried
    return none_available(total, histogram(counts))
