"""Claims of pod groups: those of a pod that are also among its PodGroup's are reserved for the group as a whole.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go, k8s.io/dynamic-resource-allocation/
resourceclaim/resourceclaim.go (with the feature gate DRAWorkloadResourceClaims)
"""

from __future__ import annotations

from stowplan import api
from stowplan import framework as fwk
from stowplan.cache import Cluster
from stowplan.config.feature_gates import WORKLOAD_CLAIMS
from stowplan.framework.pod_group import group_name

API_GROUP = "scheduling.k8s.io"
RESOURCE = "podgroups"


class GroupClaims:
    """Which claims belong to PodGroups. Without the feature gate none does."""

    def __init__(self, cluster: Cluster) -> None:
        self._groups = cluster.pod_groups
        self._enabled = cluster.release.has(WORKLOAD_CLAIMS)

    def consumer(self, pod: fwk.Pod, claim: api.ResourceClaim) -> api.ResourceClaimConsumerReference | None:
        """The PodGroup that the claim is reserved for; None if it is reserved for the pod."""
        if not self._enabled or pod.template.spec.scheduling_group is None:
            return None
        rules = self._groups.rules_of(pod)
        if rules is None or claim.metadata.name not in _names(pod, rules):
            return None
        return api.ResourceClaimConsumerReference(
            api_group=API_GROUP, resource=RESOURCE, name=group_name(pod), uid=rules.uid
        )

    def owner_problem(self, pod: fwk.Pod, claim: api.ResourceClaim) -> str | None:
        """Why a claim from a template belongs to neither the pod nor its group; None for pods without a group, and ""
        if the claim belongs to the group. The controller is compared by kind, name and API group, not by uid."""
        name = group_name(pod)
        if not self._enabled or not name:
            return None
        for owner in claim.metadata.owner_references:
            found = (owner.api_version.partition("/")[0], owner.kind, owner.name)
            if owner.controller and found == (API_GROUP, "PodGroup", name):
                return ""
        return (
            f"ResourceClaim {claim.metadata.namespace}/{claim.metadata.name} was not created for Pod {pod.key} "
            f"(neither Pod nor PodGroup {name} is the owner)"
        )

    def is_idle(self, pod: fwk.Pod) -> bool:
        """Whether no member of the pod's group has a node."""
        state = self._groups.of(pod)
        return state is None or not state.scheduled_count


def _names(pod: fwk.Pod, rules: api.PodGroupRules) -> set[str | None]:
    """The names of the pod's claims that are the group's."""
    made = {status.name: status.resource_claim_name for status in pod.template.claim_statuses}
    return {
        entry.resource_claim_name or made.get(entry.name) for entry in pod.spec.resource_claims if entry in rules.claims
    }
