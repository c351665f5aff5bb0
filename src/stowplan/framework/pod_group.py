"""Pod groups as plugins see them: the members of a cycle, the state of a group, placements and their assignments.

Upstream: k8s.io/kube-scheduler/framework/interface.go (PodGroupInfo, PodGroupState, Placement, PodGroupAssignments)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from stowplan.api import PodGroupRules
from stowplan.framework.pod import Pod

if TYPE_CHECKING:
    from stowplan.framework.vector import Nodes

POD_GROUP_CYCLE = "PodGroupCycle"
"""Key of a pod's CycleState, present during a pod group cycle: the CycleState of the whole group. Reserve and Permit
are then tests, which are undone and may be repeated."""


class PodGroupInfo(NamedTuple):
    """The group of a cycle, and the members that the cycle tries, in order."""

    namespace: str
    name: str
    rules: PodGroupRules | None
    """None: the PodGroup does not exist."""
    members: Sequence[Pod]


class Placement(NamedTuple):
    """Nodes among which a whole group is tried; the name is that of a topology domain."""

    name: str
    nodes: Nodes


class PodGroupAssignments(NamedTuple):
    """A placement, and the members that found a node in it."""

    placement: Placement
    assignments: Sequence[tuple[Pod, str]]
    """(member, name of its node)"""


class PodGroupState:
    """The pods of a group by uid. A pod is in `all` and in one of the other three."""

    __slots__ = ("all", "assigned", "assumed", "unscheduled")

    def __init__(self) -> None:
        self.all: dict[str, Pod] = {}
        self.unscheduled: dict[str, Pod] = {}
        self.assumed: dict[str, Pod] = {}
        self.assigned: dict[str, Pod] = {}

    @property
    def scheduled(self) -> Mapping[str, Pod]:
        """Members that are bound or assumed."""
        return self.assumed | self.assigned

    @property
    def scheduled_count(self) -> int:
        return len(self.assumed) + len(self.assigned)


def group_name(pod: Pod) -> str:
    """The name of the pod's group, in the namespace of the pod; "" without a group."""
    group = pod.template.spec.scheduling_group
    return "" if group is None else group.pod_group_name or ""
