"""PreemptionToleration: preemption that spares pods whose PriorityClass tolerates the preemptor.

Upstream: sigs.k8s.io/scheduler-plugins/pkg/preemptiontoleration/preemption_toleration.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from stowplan import api
from stowplan import framework as fwk
from stowplan.config.args.optional import RFC_3339, PreemptionTolerationArgs
from stowplan.optional_plugins.base.go_time import parse_go_time
from stowplan.optional_plugins.base.preemption import PreemptionPlugin
from stowplan.plugins.base import VictimRules

PREFIX = "preemption-toleration.scheduling.x-k8s.io/"
MINIMUM_PREEMPTABLE_PRIORITY = f"{PREFIX}minimum-preemptable-priority"
TOLERATION_SECONDS = f"{PREFIX}toleration-seconds"


class TolerationPolicy(NamedTuple):
    """The annotations of a PriorityClass."""

    minimum_preemptable_priority: int
    """Preemptors below this priority are tolerated."""
    toleration_seconds: int
    """The time after the pod was scheduled during which they are; negative: for ever."""


def policy_of(priority_class: api.PriorityClass) -> TolerationPolicy | None:
    """The policy of a class; None if an annotation is not a number."""
    annotations = priority_class.metadata.annotations
    try:
        minimum = _integer(annotations.get(MINIMUM_PREEMPTABLE_PRIORITY), priority_class.value + 1, bits=32)
        seconds = _integer(annotations.get(TOLERATION_SECONDS), 0, bits=64)
    except ValueError:
        return None
    return TolerationPolicy(minimum, seconds)


def _integer(text: str | None, default: int, *, bits: int) -> int:
    if text is None:
        return default
    number = int(text) if text.isascii() and text.lstrip("+-").isdigit() else None
    if number is None or not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise ValueError(text)
    return number


class TolerationRules(VictimRules):
    """Pods of lower priority whose class does not tolerate the preemptor."""

    def __init__(self, classes: Mapping[str, api.PriorityClass], now: float) -> None:
        self._classes = classes
        self._now = now

    def potential_victims(self, pod: fwk.Pod, info: fwk.NodeInfo) -> Iterable[fwk.Pod] | fwk.Status:
        lower = [other for other in info.pods.values() if other.priority < pod.priority]
        for name in (other.template.spec.priority_class_name for other in lower):
            if name and name not in self._classes:
                return fwk.error(f'priorityclass.scheduling.k8s.io "{name}" not found')
        return [other for other in lower if not self._is_spared(other, pod)]

    def _is_spared(self, victim: fwk.Pod, preemptor: fwk.Pod) -> bool:
        name = victim.template.spec.priority_class_name
        policy = policy_of(self._classes[name]) if name else None
        if policy is None or preemptor.priority >= policy.minimum_preemptable_priority:
            return False
        if policy.toleration_seconds < 0:
            return True
        scheduled_at = _scheduled_at(victim)
        return scheduled_at is None or scheduled_at + policy.toleration_seconds > self._now


def _scheduled_at(pod: fwk.Pod) -> float | None:
    """When the pod was scheduled, in seconds since 1970; None if its condition PodScheduled is not True."""
    for condition in pod.status.conditions:
        if condition.type == "PodScheduled" and condition.status == "True":
            return parse_go_time(RFC_3339, condition.last_transition_time) or 0.0
    return None


class PreemptionToleration(PreemptionPlugin):
    """DefaultPreemption with `TolerationRules`."""

    name = "PreemptionToleration"
    reads = ("PodDisruptionBudget", "PriorityClass")
    reads_pod_status = True
    args: PreemptionTolerationArgs

    def candidate_limit(self) -> tuple[int, int]:
        return self.args.min_candidate_nodes_percentage, self.args.min_candidate_nodes_absolute

    def victim_rules(self, state: fwk.CycleState, pod: fwk.Pod) -> VictimRules:
        return TolerationRules(self.handle.objects("PriorityClass"), self.handle.now())
