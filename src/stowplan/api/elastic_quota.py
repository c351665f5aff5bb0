"""ElasticQuota, the custom resource of the plugin CapacityScheduling.

Upstream: sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1/types.go
"""

from stowplan.api.meta import ObjectMeta, ResourceList, Wire

__all__ = ["ElasticQuota", "ElasticQuotaSpec"]


class ElasticQuotaSpec(Wire, frozen=True, kw_only=True):
    """The guaranteed and the largest amounts of a namespace. None: no guarantee, no limit."""

    min: ResourceList | None = None
    max: ResourceList | None = None


class ElasticQuota(Wire, frozen=True, kw_only=True):
    """The quota of a namespace, which may borrow what other namespaces do not use."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ElasticQuotaSpec = ElasticQuotaSpec()
