"""SchedulingGates: pods with gates stay out of the queue.

Upstream: pkg/scheduler/framework/plugins/schedulinggates/scheduling_gates.go
"""

from __future__ import annotations

from collections.abc import Iterable

from stowplan import framework as fwk
from stowplan.plugins.base import InTreePlugin

NAME = "SchedulingGates"


class SchedulingGates(InTreePlugin):
    """The controller that set a gate removes it when the pod may be scheduled."""

    name = NAME

    def concerns(self, template: fwk.PodTemplate) -> bool:
        return bool(template.spec.scheduling_gates)

    def pre_enqueue(self, pod: fwk.Pod) -> fwk.Status | None:
        gates = pod.spec.scheduling_gates
        if not gates:
            return None
        names = " ".join(gate.name for gate in gates)
        return fwk.Status(
            fwk.Code.UnschedulableAndUnresolvable, f"waiting for scheduling gates: [{names}]", plugin=NAME
        )

    def events_to_register(self) -> Iterable[fwk.ClusterEventWithHint]:
        return (fwk.on(fwk.EventResource.Pod, fwk.Action.UpdatePodSchedulingGatesEliminated, _after_gates_are_gone),)


def _after_gates_are_gone(pod: fwk.Pod, old: fwk.Pod | None, new: fwk.Pod | None) -> fwk.QueueingHint:
    own = new is not None and new.uid == pod.uid
    return fwk.QueueingHint.Queue if own else fwk.QueueingHint.QueueSkip
