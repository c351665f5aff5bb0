"""Going through nodes until there are candidates enough: one by one, or many at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stowplan.framework import Slots
from stowplan.plugins.base import Demand
from stowplan.runtime.points.cycle_error import CycleError
from stowplan.runtime.preemption.demands import Room
from stowplan.runtime.preemption.dry_run import PreemptionCandidate, dry_run
from stowplan.runtime.preemption.dry_run_many import Cleared
from stowplan.runtime.preemption.select_candidate import Costs, costs_of

if TYPE_CHECKING:
    from stowplan.runtime.decide.diagnosis import Diagnosis


class CandidateSearch(NamedTuple):
    """What came of the nodes that were looked at."""

    candidates: Sequence[PreemptionCandidate]
    costs: Costs
    failures: Counter[str]
    """Why nodes are no candidates; complete where there are none at all."""
    errors: Sequence[CycleError]


def one_by_one(diagnosis: Diagnosis, slots: Slots, enough: int) -> CandidateSearch:
    """The definition: each node judged by the filters themselves."""
    infos = diagnosis.profile.cluster.nodes.infos
    candidates: list[PreemptionCandidate] = []
    failures: Counter[str] = Counter()
    errors: list[CycleError] = []
    spotless = False
    for slot in slots.tolist():
        info = infos[slot]
        assert info is not None
        try:
            outcome = dry_run(diagnosis.profile, diagnosis.state, diagnosis.pod, info)
        except CycleError as failure:
            errors.append(failure)
            continue
        if isinstance(outcome, PreemptionCandidate):
            candidates.append(outcome)
            spotless = spotless or not outcome.violations
            if len(candidates) >= enough and spotless:
                break
        else:
            failures.update(outcome.reasons)
    return CandidateSearch(tuple(candidates), costs_of(candidates), failures, errors)


def together(diagnosis: Diagnosis, demands: tuple[Demand, ...], slots: Slots, enough: int) -> CandidateSearch:
    """The same, where all that matters is room."""
    room = Room(diagnosis.profile, diagnosis.state, diagnosis.pod, demands)
    parts: list[Cleared] = []
    wanted = enough
    spotless = False
    for block in _blocks(slots, enough):
        part = room.clear(block)
        take = wanted
        if not spotless:
            free = np.flatnonzero(part.costs[0] == 0)
            spotless = len(free) > 0
            take = max(wanted, int(free[0]) + 1) if spotless else len(part.slots)
        parts.append(part if take >= len(part.slots) else part.head(take))
        if spotless and take <= len(part.slots):
            break
        wanted -= len(part.slots)
    cleared = Cleared.joined(parts)
    if not len(cleared.slots) and room.authored:
        return one_by_one(diagnosis, slots, enough)
    if not len(cleared.slots):
        failures, others = room.reasons(slots)
        rest = one_by_one(diagnosis, others, enough)
        return rest._replace(failures=failures + rest.failures)
    return CandidateSearch(room.candidates(cleared), cleared.costs, Counter(), ())


def _blocks(slots: Slots, size: int) -> Iterator[Slots]:
    """Growing stretches: where candidates are rare, there is no point in small steps."""
    first = 0
    while first < len(slots):
        yield slots[first : first + size]
        first += size
        size *= 2
