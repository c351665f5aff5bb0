"""SchedulingGates: pods that still have gates are kept out of the queue."""

from __future__ import annotations

from collections.abc import Iterable

from stowplan.framework import (
    Action,
    ClusterEventWithHint,
    Code,
    EventResource,
    Pod,
    PodTemplate,
    QueueingHint,
    Status,
    on,
)
from stowplan.plugins.base import InTreePlugin

NAME = "SchedulingGates"


class SchedulingGates(InTreePlugin):
    """Whoever put a gate on a pod takes it away when the pod may be scheduled."""

    name = NAME

    def concerns(self, template: PodTemplate) -> bool:
        return bool(template.spec.scheduling_gates)

    def pre_enqueue(self, pod: Pod) -> Status | None:
        gates = pod.spec.scheduling_gates
        if not gates:
            return None
        names = " ".join(gate.name for gate in gates)
        return Status(Code.UnschedulableAndUnresolvable, f"waiting for scheduling gates: [{names}]", plugin=NAME)

    def events_to_register(self) -> Iterable[ClusterEventWithHint]:
        return (on(EventResource.Pod, Action.UpdatePodSchedulingGatesEliminated, _after_gates_are_gone),)


def _after_gates_are_gone(pod: Pod, old: Pod | None, new: Pod | None) -> QueueingHint:
    own = new is not None and new.uid == pod.uid
    return QueueingHint.Queue if own else QueueingHint.QueueSkip
