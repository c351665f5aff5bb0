"""Preemption for one pod: who may preempt, where to look, what came of it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stowplan.framework import Code, NodeInfo, Pod, Status
from stowplan.runtime.fit_error import histogram
from stowplan.runtime.outcomes import CycleError
from stowplan.runtime.preemption.choice import best
from stowplan.runtime.preemption.dry_run import Candidate, dry_run

if TYPE_CHECKING:
    from stowplan.runtime.profile import Profile
    from stowplan.runtime.survey import Survey

NOT_HELPFUL = "Preemption is not helpful for scheduling"
NEVER = "not eligible due to preemptionPolicy=Never."
TERMINATING = "not eligible due to a terminating pod on the nominated node."


class Preemption(NamedTuple):
    """What a search found."""

    candidates: tuple[Candidate, ...]
    tied: tuple[Candidate, ...]
    """The best candidates; which of them is chosen does not matter to any rule."""
    chosen: Candidate | None
    message: str
    """Why nothing was found; empty where something was."""

    @property
    def node_name(self) -> str:
        return "" if self.chosen is None else self.chosen.info.name

    @property
    def victims(self) -> tuple[Pod, ...]:
        return () if self.chosen is None else self.chosen.victims


def eligibility(survey: Survey) -> str:
    """Why the pod may not preempt others; empty where it may."""
    pod = survey.pod
    if pod.spec.preemption_policy == "Never":
        return NEVER
    if not pod.nominated_node_name:
        return ""
    info = survey.profile.cluster.nodes.get(pod.nominated_node_name)
    if info is None:
        return ""
    status = survey.status_of(info.slot) or survey.absent
    if status is not None and status.code == Code.UnschedulableAndUnresolvable:
        return ""
    leaving = any(p.being_preempted and p.priority < pod.priority for p in info.pods.values())
    return TERMINATING if leaving else ""


def search(survey: Survey, limit: tuple[int, int] | None) -> Preemption:
    """Dry-run nodes where preemption might help.

    `limit` is (percentage, absolute): how many candidates are enough, counted from a random node on; None looks at
    every node.
    """
    profile = survey.profile
    infos = promising_nodes(survey)
    enough = len(infos)
    if limit is not None and infos:
        enough = min(len(infos), max(len(infos) * limit[0] // 100, limit[1]))
        start = profile.rng.randrange(len(infos))
        infos = infos[start:] + infos[:start]
    candidates: list[Candidate] = []
    failures: Counter[str] = Counter()
    errors: list[CycleError] = []
    for info in infos:
        try:
            outcome = dry_run(profile, survey.state, survey.pod, info)
        except CycleError as failure:
            errors.append(failure)
            continue
        if isinstance(outcome, Candidate):
            candidates.append(outcome)
            if len(candidates) >= enough and any(not c.violations for c in candidates):
                break
        else:
            failures.update(outcome.reasons)
    if not candidates:
        if errors:
            raise errors[0]
        return Preemption((), (), None, _no_candidates(profile, len(infos), failures))
    tied = best(candidates)
    return Preemption(tuple(candidates), tuple(tied), profile.rng.choice(tied), "")


def promising_nodes(survey: Survey) -> list[NodeInfo]:
    """Nodes that rejected the pod in a way that evictions may cure."""
    infos = survey.profile.cluster.nodes.infos
    curable = [index for index, status in enumerate(survey.statuses) if status.code == Code.Unschedulable]
    mask = np.isin(survey.verdicts, curable)
    absent = survey.absent
    if absent is not None and absent.code == Code.Unschedulable:
        mask |= survey.verdicts < 0
    return [info for slot in np.flatnonzero(mask).tolist() if (info := infos[slot]) is not None]


def _no_candidates(profile: Profile, tried: int, failures: Counter[str]) -> str:
    total = len(profile.cluster.nodes)
    counts = Counter(failures)
    if total > tried:
        counts[NOT_HELPFUL] += total - tried
    return f"0/{total} nodes are available: {histogram(counts)}."


def ineligible(reason: str) -> Status:
    return Status(Code.Unschedulable, f"preemption: {reason}")
