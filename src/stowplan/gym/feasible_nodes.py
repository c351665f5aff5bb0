"""The nodes that an agent may choose: those that pass the filters of the pod's profile."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stowplan.framework import CycleState, Mask, Pod, StateNotFoundError
from stowplan.runtime import Profile
from stowplan.runtime.decide.diagnosis import Diagnosis
from stowplan.runtime.decide.filtering import NO_OBJECTION
from stowplan.runtime.points.cycle_error import CycleError


class FeasibleNodes(NamedTuple):
    """Nodes that pass PreFilter and Filter."""

    mask: Mask
    """By slot."""
    number: int
    state: CycleState
    """What the plugins keep for later extension points."""


def feasible_nodes(profile: Profile, pod: Pod) -> FeasibleNodes | None:
    """The feasible nodes of a pod that is to be scheduled; None if there is none or a plugin fails."""
    if not profile.cluster.nodes.slot_of:
        return None
    if profile.cluster.templates.version:
        profile.renew_templates(pod)
    epoch = profile.epoch
    try:
        found = None if profile.nominator.by_node else _kept(profile, pod)
        # After a change of the epoch, a plugin may have read a field of this pod only.
        if found is None or epoch != profile.epoch:
            found = _afresh(profile, pod)
    except (CycleError, StateNotFoundError):
        try:
            found = _afresh(profile, pod)
        except (CycleError, StateNotFoundError):
            return None
    return found if found.number else None


def _kept(profile: Profile, pod: Pod) -> FeasibleNodes | None:
    """The nodes by answers that are kept for the pod's template; None if those are not enough."""
    planned = profile.planned(pod)
    if planned is None:
        return None
    state = CycleState()
    pre_filtered = planned.run_pre_filters(state, pod)
    if pre_filtered is not NO_OBJECTION:
        return None
    number = planned.run_filters(state, pod, pre_filtered)
    if not number and not planned.plan.folded.isdisjoint(state.skip_filter):
        return None  # A plugin skips this pod, and the plan has its answers for the template.
    return FeasibleNodes(planned.passing(), number, state)


def _afresh(profile: Profile, pod: Pod) -> FeasibleNodes:
    diagnosis = Diagnosis(profile, pod).run()
    mask: Mask = np.zeros(profile.cluster.nodes.high, dtype=np.bool_)
    mask[diagnosis.feasible] = True
    return FeasibleNodes(mask, len(diagnosis.feasible), diagnosis.state)
