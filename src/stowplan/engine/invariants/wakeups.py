"""Finds pods that wait although they would fit: a queueing hint missed an event."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from stowplan.engine.engine import Engine
from stowplan.engine.state import EngineState
from stowplan.framework import QueuedPodInfo
from stowplan.runtime import Profile
from stowplan.runtime.decide.diagnosis import Diagnosis
from stowplan.runtime.out_of_tree.plugin import OutOfTreePlugin
from stowplan.runtime.points.cycle_error import CycleError


class Overlooked(NamedTuple):
    """A pod in the unschedulable pods that would fit."""

    queued: QueuedPodInfo
    node_names: tuple[str, ...]

    def __str__(self) -> str:
        plugins = ", ".join(sorted(self.queued.unschedulable_plugins | self.queued.pending_plugins))
        where = ", ".join(self.node_names)
        return f"pod {self.queued.pod.uid} waits, rejected by {plugins}, though it fits on {where}"


def overlooked(engine: Engine) -> Iterator[Overlooked]:
    """Unschedulable pods that would fit now, by running all filters afresh.

    Gated pods are left out, and so are pods rejected at Reserve, at Permit or by an extender: only these know whether
    another attempt would succeed. Not every pod found was
    missed by mistake: kube-scheduler does not announce every release either, for example of a nominated node when the
    nominated pod is scheduled elsewhere.
    """
    state = engine._state
    for queued in state.queue.unschedulable:
        profile = state.profiles[queued.pod.spec.scheduler_name]
        if _rejected_by_filters(profile, queued) and (node_names := _fits_on(state, profile, queued)):
            yield Overlooked(queued, node_names)


def _rejected_by_filters(profile: Profile, queued: QueuedPodInfo) -> bool:
    """In-tree plugins do not reject at Reserve; whether an out-of-tree plugin did is unknown."""
    filters = {plugin.name for plugin in (*profile.pre_filters, *profile.filters)}
    late = (*profile.points["reserve"], *profile.points["permit"])
    filters -= {plugin.name for plugin in late if isinstance(plugin, OutOfTreePlugin)}
    return not profile.extenders and queued.unschedulable_plugins | queued.pending_plugins <= filters


def _fits_on(state: EngineState, profile: Profile, queued: QueuedPodInfo) -> tuple[str, ...]:
    """Names of the feasible nodes."""
    pod = queued.pod
    if len(pod.labels) != len(pod.template.labels):
        state.cluster.retemplate(pod)
    try:
        diagnosis = Diagnosis(profile, pod, plain=True).run()
    except CycleError:
        return ()
    infos = state.cluster.nodes.infos
    return tuple(info.name for slot in diagnosis.feasible.tolist() if (info := infos[slot]) is not None)
