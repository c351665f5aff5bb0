"""Objects that change or limit the pods of a namespace: LimitRange, ResourceQuota, HorizontalPodAutoscaler.

Upstream: k8s.io/api/core/v1/types.go, k8s.io/api/autoscaling/v2/types.go
"""

from stowplan.api.meta import Int32, ObjectMeta, ResourceList, Wire
from stowplan.api.read_only import EMPTY

__all__ = [
    "CrossVersionObjectReference", "HorizontalPodAutoscaler", "HorizontalPodAutoscalerSpec", "LimitRange",
    "LimitRangeItem", "LimitRangeSpec", "ResourceQuota", "ResourceQuotaSpec", "ScopeSelector",
    "ScopedResourceSelectorRequirement",
]  # fmt: skip


class LimitRangeItem(Wire, frozen=True, kw_only=True):
    """Limits and defaults of each pod, container or claim."""

    type: str = ""
    max: ResourceList = EMPTY
    min: ResourceList = EMPTY
    default: ResourceList = EMPTY
    default_request: ResourceList = EMPTY
    max_limit_request_ratio: ResourceList = EMPTY


class LimitRangeSpec(Wire, frozen=True, kw_only=True):
    """The limits of a namespace."""

    limits: tuple[LimitRangeItem, ...] = ()


class LimitRange(Wire, frozen=True, kw_only=True):
    """A limit range."""

    metadata: ObjectMeta = ObjectMeta()
    spec: LimitRangeSpec = LimitRangeSpec()


class ScopedResourceSelectorRequirement(Wire, frozen=True, kw_only=True):
    """A scope with an operator and values."""

    scope_name: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class ScopeSelector(Wire, frozen=True, kw_only=True):
    """Scopes that must all match."""

    match_expressions: tuple[ScopedResourceSelectorRequirement, ...] = ()


class ResourceQuotaSpec(Wire, frozen=True, kw_only=True):
    """Hard limits of a namespace, and the objects that they count."""

    hard: ResourceList = EMPTY
    scopes: tuple[str, ...] = ()
    scope_selector: ScopeSelector | None = None


class ResourceQuota(Wire, frozen=True, kw_only=True):
    """A resource quota."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceQuotaSpec = ResourceQuotaSpec()


class CrossVersionObjectReference(Wire, frozen=True, kw_only=True):
    """The workload that an autoscaler scales."""

    api_version: str = ""
    kind: str = ""
    name: str = ""


class HorizontalPodAutoscalerSpec(Wire, frozen=True, kw_only=True):
    """Target and bounds of an autoscaler."""

    scale_target_ref: CrossVersionObjectReference = CrossVersionObjectReference()
    min_replicas: Int32 | None = None
    max_replicas: Int32 = 1


class HorizontalPodAutoscaler(Wire, frozen=True, kw_only=True):
    """A horizontal pod autoscaler."""

    metadata: ObjectMeta = ObjectMeta()
    spec: HorizontalPodAutoscalerSpec = HorizontalPodAutoscalerSpec()
