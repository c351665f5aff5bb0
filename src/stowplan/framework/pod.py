"""The pod that plugins read: identity of its own, everything else shared with the pods of its template.

Upstream: pkg/scheduler/framework/types.go (PodInfo)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeVar

from msgspec.structs import replace

from stowplan.api import ObjectMeta, OwnerReference, PodResourceClaimStatus, PodSpec, PodStatus, codec
from stowplan.api.read_only import ReadOnlyDict, freeze, read_only

T = TypeVar("T")

_MISSING = object()

AnnotationKeys = frozenset[str] | Literal[True]
"""Keys of annotations; True: all of them."""

_NO_ANNOTATIONS: Mapping[str, str] = MappingProxyType({})
_NO_KEYS: AnnotationKeys = frozenset()


class ReadOnlyDetails(NamedTuple):
    """Metadata and status of a pod, in which all mappings are read-only."""

    metadata: ObjectMeta
    status: PodStatus


PodDetails = ObjectMeta | tuple[ObjectMeta, PodStatus] | tuple[str, str]
"""Metadata with status; metadata of a pod whose status equals that of its template's first pod; or (resourceVersion,
creationTimestamp) of a pod that differs from the first one in nothing else but its identity."""


class FirstDetails(NamedTuple):
    """Metadata and status of a template's first pod. Other pods share parts of them."""

    metadata: ObjectMeta
    status: PodStatus
    compared: tuple[object, ...]
    """The parts that are equal in most pods of a template."""


class PodTemplate:
    """Everything that plugins read of a pod except its identity. Interned: the replicas of one controller share one
    instance.

    Values that depend on the template alone (requests, compiled selectors, tolerations) are computed once and kept in
    `derived`. Templates compare by identity.

    Pods with claims of their own have a template each, since the claims have different names. These templates share
    everything else with their `base`, also `derived` unless they are large: nothing in it may depend on
    `claim_statuses`, or on the names in `spec.resource_claims` unless out-of-tree plugins run, which may read them.
    """

    __slots__ = (
        "__weakref__",
        "annotation_keys",
        "annotations",
        "base",
        "claim_statuses",
        "controller",
        "derived",
        "encoded_bytes",
        "first_details",
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
        requests: Mapping[str, int],
        non_zero_requests: tuple[int, int],
    ) -> None:
        self.namespace = namespace
        self.labels: Mapping[str, str] = MappingProxyType(dict(labels))
        """Labels that all pods of the template share, as a read-only mapping."""
        self.annotations = _NO_ANNOTATIONS
        """Annotations that plugins declare in `reads_annotations`, as a read-only mapping."""
        self.annotation_keys = _NO_KEYS
        """Internal: the keys of annotations that are part of templates."""
        self.spec = spec
        """The spec without `node_name`, and without volumes of kinds that scheduling does not read."""
        self.controller = controller
        """The owner reference of the pod's controller, or None."""
        self.claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
        self.priority = spec.priority or 0
        self.requests: Mapping[str, int] = ReadOnlyDict(requests)
        """Requests by resource name: millicores for cpu, whole units for other resources."""
        self.non_zero_requests = non_zero_requests
        """(cpu, memory) with the defaults that scoring assumes for containers without requests."""
        self.encoded_bytes = 0
        """Internal: the size of everything that is part of the template."""
        self.large = False
        """Internal: whether the spec is so large that nothing made for it may outlive the pods of the template."""
        self.first_details: FirstDetails | None = None
        """Internal: of the first pod, where out-of-tree plugins run."""
        self.derived: dict[Hashable, Any] = {}
        self.footprint: Any = None
        """Internal: the amounts that the cache adds to its columns for each such pod."""
        self.base: PodTemplate | None = None
        """Internal: the template of such pods without the names of their claims; None for that template itself."""

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
        "details",
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

    details: PodDetails
    """Internal: metadata and status. Set where out-of-tree plugins run; frozen when a plugin first reads them."""

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
        """What the pod shares with other pods like it."""
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
        """Whether the pod is being deleted."""
        self.being_preempted = False
        """Whether the pod is terminating because a scheduler evicted it (condition DisruptionTarget)."""
        self.used: tuple[Mapping[str, int], tuple[int, int]] | None = None
        """(requests, non-zero requests) of a running pod whose status differs from its spec (in-place resize)."""
        self.source: Any = None
        """Internal: the whole API object, as JSON or parsed, if it is kept; else None."""

    @property
    def spec(self) -> PodSpec:
        """The fields of spec that scheduling reads, in snake case (`node_selector`) or, untyped, as in manifests
        (`nodeSelector`); others are in `object`."""
        spec = self.template.spec
        return replace(spec, node_name=self.node_name) if self.node_name else spec

    @property
    def annotations(self) -> Mapping[str, str]:
        """Annotations as a read-only mapping. A plugin with a scope declares them: `reads_annotations`."""
        return self.metadata.annotations

    @property
    def metadata(self) -> ObjectMeta:
        """Metadata of the API object, as the API server last sent it."""
        return self._details().metadata

    @property
    def status(self) -> PodStatus:
        """The fields of status that scheduling reads, as the API server last sent them."""
        return self._details().status

    def _details(self) -> ReadOnlyDetails:
        try:
            details = self.details
        except AttributeError:
            text = f"pod {self.key}: metadata and status are kept only where plugins of other authors are enabled"
            raise AttributeError(text) from None
        if not isinstance(details, ReadOnlyDetails):
            metadata, status = self._whole_details(details)
            freeze(metadata)
            freeze(status)
            details = self.details = ReadOnlyDetails(metadata, status)
        return details

    def _whole_details(self, details: PodDetails) -> tuple[ObjectMeta, PodStatus]:
        """Metadata and status, of which those of the template's first pod may be a part."""
        if isinstance(details, tuple) and not isinstance(details[0], str):
            return details
        assert self.template.first_details is not None
        first, status, _ = self.template.first_details
        if isinstance(details, ObjectMeta):
            return details, status
        version, created = details
        identity = {"name": self.name, "uid": self.uid, "generation": self.generation}
        return replace(first, resource_version=version, creation_timestamp=created, **identity), status

    @property
    def priority(self) -> int:
        return self.template.priority

    @property
    def key(self) -> str:
        """namespace/name."""
        return f"{self.namespace}/{self.name}"

    @property
    def object(self) -> Any:
        """The whole API object, as parsed JSON that is read-only; requires `needs_objects = True` on the plugin. Fields
        are read as attributes too: `pod.object.spec.service_account_name`."""
        source = self.source
        if source is None:
            raise AttributeError(f"pod {self.key}: whole objects are kept only for plugins with needs_objects = True")
        if not isinstance(source, ReadOnlyDict):
            source = self.source = read_only(codec.whole(source) if isinstance(source, bytes) else source)
        return source

    def __repr__(self) -> str:
        return f"<Pod {self.key}>"


def detach_details(pod: Pod) -> None:
    """Internal: keep metadata and status without those of the template's first pod, before the template changes."""
    if hasattr(pod, "details") and not isinstance(pod.details, ReadOnlyDetails):
        pod.details = pod._whole_details(pod.details)
