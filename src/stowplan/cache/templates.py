"""Interning pods by template."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from types import MappingProxyType

from msgspec.msgpack import Encoder
from msgspec.structs import force_setattr, replace

from stowplan import api
from stowplan.api.read_only import freeze
from stowplan.cache.interning import WeakTable
from stowplan.cache.requests import scheduling_requests
from stowplan.config.releases import LATEST, Release
from stowplan.framework import Pod, PodTemplate
from stowplan.framework.pod import AnnotationKeys, FirstDetails, PodDetails

PER_REPLICA_LABELS = frozenset(
    {
        "statefulset.kubernetes.io/pod-name",
        "apps.kubernetes.io/pod-index",
        "batch.kubernetes.io/job-completion-index",
    }
)
"""Labels with a different value for each replica; they split templates only if a selector reads them."""

LARGE_TEMPLATE_BYTES = 16 * 1024
"""Encoded. Ordinary templates take 1 to 2 KiB; tables that are swept now and then must not hold megabytes per entry."""

_MAX_COMPARED_CHANGES = 4
"""Number of consecutive pods with a new template after which pods are not compared with the latest template."""

_encode = Encoder(order="deterministic").encode
"""Equal bytes for equal values, whatever the order of mappings; much cheaper to hash than the values."""

Claims = tuple[tuple[api.PodResourceClaim, ...], tuple[api.PodResourceClaimStatus, ...]]
"""What names the claims of a pod: `spec.resource_claims` and `status.resource_claim_statuses`."""

_SHARED_METADATA = ("namespace", "generate_name", "creation_timestamp", "labels", "annotations", "owner_references")
_COPIED = tuple(
    name for name in PodTemplate.__slots__ if name not in ("__weakref__", "base", "claim_statuses", "first_details")
)
_UNREAD = api.Volume(name="")
_NAMED = api.PodResourceClaim(resource_claim_name="")
"""Stands for a claim that the spec names."""
_NO_ANNOTATIONS: dict[str, str] = {}
_NONE_LATEST: tuple[tuple[object, ...], PodTemplate] = ((), PodTemplate("", {}, api.PodSpec(), None, {}, (0, 0)))
"""In the form of `Templates._latest`: (what the latest template was made of, the template)."""


class Templates:
    """Equal templates are one object for as long as any pod uses it."""

    def __init__(self, release: Release = LATEST) -> None:
        self._counts_pod_level = release.has("PodLevelResources")
        self._counts_pod_level_status = release.has("InPlacePodLevelResourcesVerticalScaling")
        self._known: WeakTable[bytes, PodTemplate] = WeakTable()
        self._with_claims: WeakTable[tuple[int, Claims], PodTemplate] = WeakTable()
        """Of pods with claims of their own, by `id` of the base, which lives as long as they do."""
        self._ignored = set(PER_REPLICA_LABELS)
        self.version = 0
        """Grows when a selector begins to read labels that existing templates leave out."""
        self._latest = _NONE_LATEST
        """Replicas come one after another."""
        self._changes = 0
        """Pods in a row whose template was another one than that of the pod before."""
        self._annotation_keys: AnnotationKeys = frozenset()
        """Keys of the annotations that are part of templates."""
        self._serves_plugins = False

    def sweep(self) -> None:
        """Drop the entries of templates that no pod uses any more."""
        self._with_claims.sweep()
        self._known.sweep()

    def serve_plugins(self, annotations: AnnotationKeys) -> None:
        """Out-of-tree plugins read the pods: keep their metadata and status, make the dicts in specs read-only, and
        let the annotations that plugins declare split templates."""
        self._serves_plugins = True
        known = self._annotation_keys
        self._annotation_keys = True if annotations is True or known is True else known | annotations
        self._latest = _NONE_LATEST

    def reads(self, keys: frozenset[str]) -> bool:
        """A selector reads these label keys; returns whether templates are split differently from now on."""
        if self._ignored.isdisjoint(keys):
            return False
        self._ignored -= keys
        self.version += 1
        self._latest = _NONE_LATEST
        return True

    def pod(self, source: api.Pod) -> Pod:
        """The pod of an API object, on its interned template."""
        metadata, spec, status = source.metadata, source.spec, source.status
        controller = None
        for owner in metadata.owner_references:
            if owner.controller:
                controller = owner
                break
        template = self.template(metadata.namespace, metadata.labels, spec, controller, metadata.annotations)
        if spec.resource_claims:
            template = self.with_claims(template, spec.resource_claims, status.resource_claim_statuses)
        # Equal numbers mean equal labels: the template has all labels, or all but those of each replica.
        shared = len(metadata.labels) == len(template.labels)
        pod = Pod(
            template,
            metadata.name,
            metadata.uid,
            template.labels if shared else MappingProxyType(metadata.labels),
            spec.node_name,
            status.nominated_node_name,
            metadata.generation,
            status.start_time or "",
        )
        if metadata.deletion_timestamp is not None:
            pod.terminating = True
            pod.being_preempted = any(
                c.type == "DisruptionTarget" and c.status == "True" and c.reason == "PreemptionByScheduler"
                for c in status.conditions
            )
        if (status.container_statuses or status.resources is not None) and _reports_resources(status):
            used = self._resized_requests(template.spec, status)
            if used != (template.requests, template.non_zero_requests):
                pod.used = used
        if self._serves_plugins:
            pod.details = _shared_details(metadata, status, pod)
        return pod

    def template(
        self,
        namespace: str,
        labels: Mapping[str, str],
        spec: api.PodSpec,
        controller: api.OwnerReference | None,
        annotations: Mapping[str, str],
    ) -> PodTemplate:
        """The template of such pods without the names of their claims. Volumes whose source no plugin reads, such as
        the projected token that has a different name in each pod, do not split templates."""
        if not self._ignored.isdisjoint(labels):
            labels = {key: value for key, value in labels.items() if key not in self._ignored}
        volumes = spec.volumes
        if volumes:
            volumes = _volumes_read(volumes)
        claims = spec.resource_claims
        if claims and not self._serves_plugins:
            claims = tuple([_NAMED if claim.resource_claim_name else claim for claim in claims])
        if spec.node_name or volumes is not spec.volumes or claims is not spec.resource_claims:
            spec = replace(spec, node_name="", volumes=volumes, resource_claims=claims)
        owner = None if controller is None else (controller.api_version, controller.kind, controller.name)
        declared = self._declared(annotations) if self._annotation_keys else _NO_ANNOTATIONS
        parts = (spec, labels, namespace, owner, declared)
        latest = self._latest
        if self._changes < _MAX_COMPARED_CHANGES and parts == latest[0]:  # Takes half the time of making a key.
            self._changes = 0
            return latest[1]
        key = _encode(parts)
        size = len(key)
        if size > LARGE_TEMPLATE_BYTES:
            key = sha256(key).digest()
        template = self._known.get(key)
        if template is None:
            if spec.resources is not None and not self._counts_pod_level:
                spec = replace(spec, resources=None)
            requests, non_zero = scheduling_requests(spec)
            template = PodTemplate(namespace, labels, spec, controller, requests, non_zero)
            template.encoded_bytes, template.large = size, size > LARGE_TEMPLATE_BYTES
            if self._serves_plugins:
                freeze(spec)
            if self._annotation_keys:
                template.annotations, template.annotation_keys = MappingProxyType(declared), self._annotation_keys
            self._known.put(key, template)
        self._changes = 0 if template is latest[1] else self._changes + 1
        self._latest = (parts, template)
        return template

    def with_claims(
        self,
        base: PodTemplate,
        claims: tuple[api.PodResourceClaim, ...],
        statuses: tuple[api.PodResourceClaimStatus, ...],
    ) -> PodTemplate:
        """The template of the pods of a template with these claims."""
        if not statuses and claims == base.spec.resource_claims:
            return base
        key = id(base), (claims, statuses)
        found = self._with_claims.get(key)
        if found is None:
            found = _with_claims(base, claims, statuses)
            self._with_claims.put(key, found)
        return found

    def _resized_requests(self, spec: api.PodSpec, status: api.PodStatus) -> tuple[dict[str, int], tuple[int, int]]:
        """The requests of a pod whose status reports resources."""
        if status.resources is not None and not self._counts_pod_level_status:
            status = replace(status, resources=None)
        return scheduling_requests(spec, status)

    def _declared(self, annotations: Mapping[str, str]) -> dict[str, str]:
        keys = self._annotation_keys
        return {key: value for key, value in annotations.items() if keys is True or key in keys}


def _with_claims(
    base: PodTemplate,
    claims: tuple[api.PodResourceClaim, ...],
    statuses: tuple[api.PodResourceClaimStatus, ...],
) -> PodTemplate:
    """A template that differs from its base in the names of the claims."""
    template: PodTemplate = object.__new__(PodTemplate)
    for name in _COPIED:
        setattr(template, name, getattr(base, name))
    template.claim_statuses, template.first_details, template.base = statuses, None, base
    if claims != base.spec.resource_claims:
        template.spec = replace(base.spec, resource_claims=claims)
    if base.large:
        template.derived, template.footprint = {}, None
    return template


def _shared_details(metadata: api.ObjectMeta, status: api.PodStatus, pod: Pod) -> PodDetails:
    """The pod's `details`, with as little as possible that equals those of the template's first pod: they are most of
    the memory."""
    template = pod.template
    compared = (
        status,
        pod.labels,  # Of most pods the same object.
        metadata.annotations,
        metadata.owner_references,
        metadata.generate_name,
        metadata.finalizers,
        metadata.deletion_timestamp,
        metadata.deletion_grace_period_seconds,
    )
    if template.first_details is None:
        template.first_details = FirstDetails(metadata, status, compared)
        return metadata
    first, first_status, known = template.first_details
    if compared == known:
        created = metadata.creation_timestamp
        created = first.creation_timestamp if created == first.creation_timestamp else created
        return (metadata.resource_version, created)
    for name in _SHARED_METADATA:
        value = getattr(first, name)
        if getattr(metadata, name) == value:
            force_setattr(metadata, name, value)
    return metadata if status == first_status else (metadata, status)


def _volumes_read(volumes: tuple[api.Volume, ...]) -> tuple[api.Volume, ...]:
    """The volumes, without names where no plugin reads the source; those at the end are left out. The others keep their
    positions, to which proposals of explanations refer."""
    count = len(volumes)
    for volume in reversed(volumes):
        if volume != api.Volume(name=volume.name):
            break
        count -= 1
    if not count:
        return ()
    return tuple([_UNREAD if volume == api.Volume(name=volume.name) else volume for volume in volumes[:count]])


def _reports_resources(status: api.PodStatus) -> bool:
    """Whether the status has resources, which may differ from the spec."""
    return status.resources is not None or any(
        report.resources is not None for report in (*status.container_statuses, *status.init_container_statuses)
    )
