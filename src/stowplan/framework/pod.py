"""The pod that plugins read: identity of its own, everything else shared with the pods of its template.

Upstream: pkg/scheduler/framework/types.go (PodInfo)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from stowplan.api import OwnerReference, PodResourceClaimStatus, PodSpec, codec

T = TypeVar("T")

_MISSING = object()


class PodTemplate:
    """Everything that plugins read of a pod except its identity. Interned: the replicas of one controller share one
    instance.

    Values that depend on the template alone (requests, compiled selectors, tolerations) are computed once and kept in
    `derived`. Templates compare by identity.
    """

    __slots__ = (
        "__weakref__",
        "claim_statuses",
        "controller",
        "derived",
        "footprint",
        "labels",
        "large",
        "namespace",
        "non_zero_requests",
        "priority",
        "requests",
        "spec",
    )

    def __init__(
        self,
        namespace: str,
        labels: Mapping[str, str],
        spec: PodSpec,
        controller: OwnerReference | None,
        claim_statuses: tuple[PodResourceClaimStatus, ...],
        requests: dict[str, int],
        non_zero_requests: tuple[int, int],
    ) -> None:
        self.namespace = namespace
        self.labels: Mapping[str, str] = MappingProxyType(dict(labels))
        """Labels that all pods of the template share, as a read-only mapping."""
        self.spec = spec
        self.controller = controller
        self.claim_statuses = claim_statuses
        self.priority = spec.priority or 0
        self.requests = requests
        """Requests by resource name: millicores for cpu, whole units for other resources."""
        self.non_zero_requests = non_zero_requests
        """(cpu, memory) with the defaults that scoring assumes for containers without requests."""
        self.large = False
        """Whether the spec is so large that nothing made for it may outlive the pods of the template."""
        self.derived: dict[Hashable, Any] = {}
        self.footprint: Any = None
        """The amounts that the cache adds to its columns for each such pod; private to the cache."""

    def derive(self, key: Hashable, make: Callable[[PodTemplate], T]) -> T:
        """The value of `make(self)`, computed once for each key."""
        value = self.derived.get(key, _MISSING)
        if value is _MISSING:
            value = self.derived[key] = make(self)
        return value  # type: ignore[no-any-return]


class Pod:
    """One pod: a few fields of its own and a reference to its template."""

    __slots__ = (
        "being_preempted",
        "generation",
        "labels",
        "name",
        "namespace",
        "node_name",
        "nominated_node_name",
        "source",
        "start_time",
        "template",
        "terminating",
        "uid",
        "used",
    )

    def __init__(
        self,
        template: PodTemplate,
        name: str,
        uid: str,
        labels: Mapping[str, str],
        node_name: str = "",
        nominated_node_name: str = "",
        generation: int = 0,
        start_time: str = "",
    ) -> None:
        self.template = template
        self.name = name
        self.namespace = template.namespace
        self.uid = uid
        self.labels = labels
        """Labels as a read-only mapping."""
        self.node_name = node_name
        """spec.nodeName: the node on which the pod runs."""
        self.nominated_node_name = nominated_node_name
        self.generation = generation
        """metadata.generation, for the observedGeneration of conditions."""
        self.start_time = start_time
        """status.startTime, RFC 3339 in UTC; empty until the kubelet reports it."""
        self.terminating = False
        self.being_preempted = False
        """Whether the pod is terminating because a scheduler evicted it (condition DisruptionTarget)."""
        self.used: tuple[dict[str, int], tuple[int, int]] | None = None
        """(requests, non-zero requests) of a running pod whose status differs from its spec (in-place resize)."""
        self.source: Any = None
        """The whole API object, as JSON or parsed, if it is kept; else None."""

    @property
    def spec(self) -> PodSpec:
        return self.template.spec

    @property
    def priority(self) -> int:
        return self.template.priority

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def object(self) -> Any:
        """The whole API object, as parsed JSON; requires `needs_objects = True` on the plugin."""
        if self.source is None:
            raise AttributeError(f"pod {self.key}: whole objects are kept only for plugins with needs_objects = True")
        if isinstance(self.source, bytes):
            self.source = codec.whole(self.source)
        return self.source

    def __repr__(self) -> str:
        return f"<Pod {self.key}>"
