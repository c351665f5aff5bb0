"""Dry runs of nodes until there are enough candidates: one by one, or many at a time.

Upstream: pkg/scheduler/framework/preemption/preemption.go (DryRunPreemption)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stowplan.framework import Slots
from stowplan.plugins.base import Demand, VictimRules
from stowplan.runtime.points.cycle_error import CycleError
from stowplan.runtime.preemption.demands import VectorDryRuns
from stowplan.runtime.preemption.dry_run import PreemptionCandidate, dry_run
from stowplan.runtime.preemption.dry_run_many import Cleared
from stowplan.runtime.preemption.select_candidate import Costs, costs_of

if TYPE_CHECKING:
    from stowplan.runtime.decide.diagnosis import Diagnosis


class CandidateSearch(NamedTuple):
    """The results of the dry runs."""

    candidates: Sequence[PreemptionCandidate]
    costs: Costs
    failures: Counter[str]
    """Counts of the reasons why nodes are not candidates; complete if there is no candidate."""
    errors: Sequence[CycleError]


def one_by_one(diagnosis: Diagnosis, slots: Slots, enough: int, rules: VictimRules | None = None) -> CandidateSearch:
    """The definition: the filters run on each node."""
    infos = diagnosis.profile.cluster.nodes.infos
    candidates: list[PreemptionCandidate] = []
    failures: Counter[str] = Counter()
    errors: list[CycleError] = []
    without_violations = False
    for slot in slots.tolist():
        info = infos[slot]
        assert info is not None
        try:
            outcome = dry_run(diagnosis.profile, diagnosis.state, diagnosis.pod, info, rules)
        except CycleError as failure:
            errors.append(failure)
            continue
        if isinstance(outcome, PreemptionCandidate):
            candidates.append(outcome)
            without_violations = without_violations or not outcome.violations
            if len(candidates) >= enough and without_violations:
                break
        else:
            failures.update(outcome.reasons)
    return CandidateSearch(tuple(candidates), costs_of(candidates), failures, errors)


def together(diagnosis: Diagnosis, demands: tuple[Demand, ...], slots: Slots, enough: int) -> CandidateSearch:
    """The same for pods whose filters come down to demands."""
    dry_runs = VectorDryRuns(diagnosis.profile, diagnosis.state, diagnosis.pod, demands)
    parts: list[Cleared] = []
    wanted = enough
    without_violations = False
    for block in _blocks(slots, enough):
        part = dry_runs.clear(block)
        take = wanted
        if not without_violations:
            free = np.flatnonzero(part.costs[0] == 0)
            without_violations = len(free) > 0
            take = max(wanted, int(free[0]) + 1) if without_violations else len(part.slots)
        parts.append(part if take >= len(part.slots) else part.head(take))
        if without_violations and take <= len(part.slots):
            break
        wanted -= len(part.slots)
    cleared = Cleared.joined(parts)
    if not len(cleared.slots) and dry_runs.out_of_tree:
        return one_by_one(diagnosis, slots, enough)
    if not len(cleared.slots):
        failures, others = dry_runs.reasons(slots)
        rest = one_by_one(diagnosis, others, enough)
        return rest._replace(failures=failures + rest.failures)
    return CandidateSearch(dry_runs.candidates(cleared), cleared.costs, Counter(), ())


def _blocks(slots: Slots, size: int) -> Iterator[Slots]:
    """Blocks of growing size: where candidates are rare, small blocks do not pay."""
    first = 0
    while first < len(slots):
        yield slots[first : first + size]
        first += size
        size *= 2
