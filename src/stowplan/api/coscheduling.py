"""The PodGroup of the plugin Coscheduling, a custom resource. Not the PodGroup of scheduling.k8s.io.

Upstream: sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1/types.go
"""

from stowplan.api.meta import Int32, ObjectMeta, ResourceList, Wire

__all__ = ["CoschedulingPodGroup", "CoschedulingPodGroupSpec", "CoschedulingPodGroupStatus"]


class CoschedulingPodGroupSpec(Wire, frozen=True, kw_only=True):
    """The number of members, and the amounts, without which no member is bound."""

    min_member: Int32 = 0
    min_resources: ResourceList | None = None
    schedule_timeout_seconds: Int32 | None = None


class CoschedulingPodGroupStatus(Wire, frozen=True, kw_only=True):
    """Counts that the controller of scheduler-plugins writes."""

    succeeded: Int32 = 0


class CoschedulingPodGroup(Wire, frozen=True, kw_only=True):
    """A group of pods, which name it in the label scheduling.x-k8s.io/pod-group."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CoschedulingPodGroupSpec = CoschedulingPodGroupSpec()
    status: CoschedulingPodGroupStatus = CoschedulingPodGroupStatus()
