"""Admission: the defaults and checks that depend on other objects.

Upstream: plugin/pkg/admission/priority/admission.go, plugin/pkg/admission/storage/storageclass/setdefault/admission.go
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from msgspec.structs import replace

from stowplan import api
from stowplan.cache.stores import ApiObject
from stowplan.cache.volumes import STORAGE_CLASS
from stowplan.errors import InputError
from stowplan.simulator.api_server import ApiServer
from stowplan.simulator.custom_workload import kind_of
from stowplan.simulator.defaults import with_claim_defaults, with_defaults, with_template_defaults
from stowplan.simulator.limit_ranges import with_limit_range_defaults
from stowplan.simulator.pod_status import PENDING

T = TypeVar("T", bound=ApiObject)

DEFAULT_NAMESPACE = "default"

_NAMESPACE_LABEL = "kubernetes.io/metadata.name"
DEFAULT_CLASS_ANNOTATION = "storageclass.kubernetes.io/is-default-class"
_DEFAULT_CLASS = (DEFAULT_CLASS_ANNOTATION, "storageclass.beta.kubernetes.io/is-default-class")
SYSTEM_CRITICAL_PRIORITY = 2_000_000_000
_SYSTEM_CLASSES = {"system-cluster-critical": SYSTEM_CRITICAL_PRIORITY, "system-node-critical": 2_000_001_000}


class Admission:
    """Admits objects to the API server."""

    def __init__(self, api_server: ApiServer) -> None:
        self._api_server = api_server
        self._rules: dict[type, Callable[[Any], Any]] = {
            api.Pod: self._pod,
            api.PersistentVolumeClaim: self._claim,
            api.Namespace: _namespace,
            api.Node: _node,
            api.StorageClass: _storage_class,
            api.ReplicationController: _replication_controller,
            api.ResourceClaim: with_claim_defaults,
            api.ResourceClaimTemplate: with_template_defaults,
            api.PodGroup: self._pod_group,
        }

    def admit(self, item: T) -> T:
        """The object as the API server stores it. Raises InputError, with a path, if it would be rejected."""
        item = located(item)
        rule = self._rules.get(type(item))
        return item if rule is None else cast(T, rule(item))

    def admit_spec(self, spec: api.PodSpec, path: str = "$.spec", namespace: str = "") -> api.PodSpec:
        """The spec of a pod, or of all pods of a template, with the LimitRanges of the namespace, if given."""
        spec = with_defaults(spec)
        if namespace and self._api_server.count(api.LimitRange):
            ranges = (each for each in self._api_server.all(api.LimitRange) if each.metadata.namespace == namespace)
            spec = with_limit_range_defaults(spec, ranges)
        return self._with_priority(spec, path)

    def _pod(self, pod: api.Pod) -> api.Pod:
        is_new = not pod.metadata.resource_version
        pod = replace(pod, spec=self.admit_spec(pod.spec, namespace=pod.metadata.namespace if is_new else ""))
        return pod if pod.status.phase else replace(pod, status=replace(pod.status, phase=PENDING.phase))

    def has_priority_class(self, name: str) -> bool:
        """Whether pods may name this PriorityClass."""
        return name in _SYSTEM_CLASSES or self._api_server.get(api.PriorityClass, name) is not None

    def _with_priority(self, spec: api.PodSpec, path: str) -> api.PodSpec:
        if spec.priority is not None:
            return spec
        name = spec.priority_class_name
        found = self._api_server.get(api.PriorityClass, name) if name else self._default_priority_class()
        if found is not None:
            policy = spec.preemption_policy or found.preemption_policy
            return replace(
                spec, priority=found.value, priority_class_name=found.metadata.name, preemption_policy=policy
            )
        if name and name not in _SYSTEM_CLASSES:
            raise InputError(f"{path}.priorityClassName: no PriorityClass with name {name} was found")
        return replace(spec, priority=_SYSTEM_CLASSES.get(name, 0))

    def _pod_group(self, group: api.PodGroup) -> api.PodGroup:
        """The group with its priority, as the admission plugin Priority resolves it."""
        spec = group.spec
        if spec.priority is not None or not spec.priority_class_name:
            return group
        found = self._api_server.get(api.PriorityClass, spec.priority_class_name)
        if found is None and spec.priority_class_name not in _SYSTEM_CLASSES:
            raise InputError(
                f"$.spec.priorityClassName: no PriorityClass with name {spec.priority_class_name} was found"
            )
        value = _SYSTEM_CLASSES[spec.priority_class_name] if found is None else found.value
        return replace(group, spec=replace(spec, priority=value))

    def _default_priority_class(self) -> api.PriorityClass | None:
        defaults = [each for each in self._api_server.all(api.PriorityClass) if each.global_default]
        return min(defaults, key=lambda each: each.value, default=None)

    def _claim(self, claim: api.PersistentVolumeClaim) -> api.PersistentVolumeClaim:
        if not claim.status.phase:
            claim = replace(claim, status=replace(claim.status, phase="Pending"))
        if claim.spec.storage_class_name is not None or STORAGE_CLASS in claim.metadata.annotations:
            return claim
        default = self._default_storage_class()
        return claim if default is None else replace(claim, spec=replace(claim.spec, storage_class_name=default))

    def _default_storage_class(self) -> str | None:
        """The newest default class; the first by name among equally old ones."""
        marked = [each.metadata for each in self._api_server.all(api.StorageClass) if _is_default(each.metadata)]
        if not marked:
            return None
        newest = max(each.creation_timestamp for each in marked)
        return min(each.name for each in marked if each.creation_timestamp == newest)


def located(item: T, default: str = DEFAULT_NAMESPACE) -> T:
    """The object with its namespace: the default one if it has none, none for cluster-scoped kinds."""
    kind, metadata = kind_of(item), item.metadata
    namespace = (metadata.namespace or default) if kind.namespaced else ""
    return item if namespace == metadata.namespace else _with_metadata(item, namespace=namespace)


def _with_metadata(item: T, **changes: Any) -> T:
    return cast(T, replace(cast(Any, item), metadata=replace(item.metadata, **changes)))


def _is_default(metadata: api.ObjectMeta) -> bool:
    return any(metadata.annotations.get(name) == "true" for name in _DEFAULT_CLASS)


def _namespace(item: api.Namespace) -> api.Namespace:
    return _with_metadata(item, labels={**item.metadata.labels, _NAMESPACE_LABEL: item.metadata.name})


def _node(node: api.Node) -> api.Node:
    if node.status.allocatable:
        return node
    return replace(node, status=replace(node.status, allocatable=node.status.capacity))


def _storage_class(item: api.StorageClass) -> api.StorageClass:
    return item if item.volume_binding_mode else replace(item, volume_binding_mode="Immediate")


def _replication_controller(item: api.ReplicationController) -> api.ReplicationController:
    if item.spec.selector or item.spec.template is None:
        return item
    return replace(item, spec=replace(item.spec, selector=item.spec.template.metadata.labels))
