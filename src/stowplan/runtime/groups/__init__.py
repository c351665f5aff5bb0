"""The pod group cycle: all members of a group decided together, as a pure decision.

Belongs here: trying members one after the other (`members`), placements (`placements`), preemption for a group as a
whole (`preemption`), and the results for members and for the PodGroup (`results`). The cycle leaves the cluster as it
was; the caller binds the members, requeues them, or evicts the victims.
Does not belong here: the queue of groups, binding, rules of single plugins (`plugins.gang_scheduling` and others).
It is a part of `runtime` because it needs profiles, decisions and the search for victims, and because both the engine
and `evaluation` run it.
May import: `runtime.profile`, `runtime.decide`, `runtime.points`, `runtime.preemption`, and every room below `runtime`.

Upstream: pkg/scheduler/schedule_one_podgroup.go
"""

from stowplan.runtime.groups.cycle import GroupCycle, GroupDecision
from stowplan.runtime.groups.results import GroupCondition, MemberOutcome

__all__ = ["GroupCondition", "GroupCycle", "GroupDecision", "MemberOutcome"]
