"""No event is lost on a pod that waits for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from stowplan.engine.state import EngineState
from stowplan.queue import QueuedPod
from stowplan.runtime import Profile
from stowplan.runtime.decide.diagnosis import Diagnosis
from stowplan.runtime.out_of_tree.plugin import OutOfTreePlugin
from stowplan.runtime.points.cycle_error import CycleError


class Overlooked(NamedTuple):
    """A pod that waits although it would fit."""

    unit: QueuedPod
    node_names: tuple[str, ...]

    def __str__(self) -> str:
        plugins = ", ".join(sorted(self.unit.unschedulable_plugins | self.unit.pending_plugins))
        where = ", ".join(self.node_names)
        return f"pod {self.unit.pod.uid} waits, rejected by {plugins}, though it fits on {where}"


def overlooked(core: EngineState) -> Iterator[Overlooked]:
    """Pods that wait as unschedulable although they would fit now, asking all filters afresh.

    Not all of them were forgotten. Left out here are gated pods, and pods that a plugin rejected at Reserve or Permit,
    or that an extender had a say in: whether those would fare better nobody else can tell. Whoever asks has to know of
    releases that kube-scheduler tells nobody about either, such as that of a node to which a pod was nominated that was
    then scheduled elsewhere: pods that fit there are tried again only because they have waited for long.
    """
    for unit in core.queue.unschedulable:
        profile = core.profiles[unit.pod.spec.scheduler_name]
        if _rejected_by_filters(profile, unit) and (node_names := _fits_on(core, profile, unit)):
            yield Overlooked(unit, node_names)


def _rejected_by_filters(profile: Profile, unit: QueuedPod) -> bool:
    """Of the plugins in the tree, those at Reserve do not reject pods; whether a user's did so there, nobody noted."""
    filters = {plugin.name for plugin in (*profile.pre_filters, *profile.filters)}
    late = (*profile.points["reserve"], *profile.points["permit"])
    filters -= {plugin.name for plugin in late if isinstance(plugin, OutOfTreePlugin)}
    return not profile.extenders and unit.unschedulable_plugins | unit.pending_plugins <= filters


def _fits_on(core: EngineState, profile: Profile, unit: QueuedPod) -> tuple[str, ...]:
    """The nodes that would take the pod."""
    pod = unit.pod
    if len(pod.labels) != len(pod.template.labels):
        core.cluster.retemplate(pod)
    try:
        diagnosis = Diagnosis(profile, pod, plain=True).run()
    except CycleError:
        return ()
    infos = core.cluster.nodes.infos
    return tuple(info.name for slot in diagnosis.feasible.tolist() if (info := infos[slot]) is not None)
