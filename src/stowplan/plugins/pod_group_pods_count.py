"""PodGroupPodsCount: prefers placements in which more members of the group run.

Upstream: pkg/scheduler/framework/plugins/podgrouppodscount/podgroup_pods_count.go
"""

from __future__ import annotations

from stowplan import framework as fwk
from stowplan.plugins.base import InTreePlugin


class PodGroupPodsCount(InTreePlugin):
    """Scores the number of scheduled members with those that found a node, as a percentage of the highest number."""

    name = "PodGroupPodsCount"

    def score_placement(
        self, state: fwk.CycleState, group: fwk.PodGroupInfo, assignments: fwk.PodGroupAssignments
    ) -> int | fwk.Status:
        known = self.handle.pod_group_state(group.namespace, group.name)
        if known is None:
            return fwk.error(f"pod group state not found for pod group {group.namespace}/{group.name}")
        return known.scheduled_count + len(assignments.assignments)

    def normalize_placement_score(
        self, state: fwk.CycleState, group: fwk.PodGroupInfo, scores: dict[str, int]
    ) -> fwk.Status | None:
        highest = max(scores.values(), default=0)
        if not highest:
            return fwk.error("no pods from pod group are assigned to any of the candidate placements")
        for name, score in scores.items():
            scores[name] = score * 100 // highest
        return None
