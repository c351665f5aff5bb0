"""Names, namespaces, label values and images of a snapshot replaced by others, the same one everywhere.

Equal texts get equal replacements wherever they stand, and different texts different ones, in the same order by kind of
object; so selectors, owners, claims and taints match as before, and decisions stay the same. Kept are keys of labels
and taints, resource names, drivers and provisioners, amounts, times, device attributes, and label values that are
numbers, booleans, operating systems or architectures. Pods, ReplicaSets and claims keep the suffix after the name of
their owner.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import inspect

from stowplan.api.kinds import KINDS
from stowplan.api.pod_group import COSCHEDULING_LABEL
from stowplan.simulator.custom_workload import CustomWorkload

Objects = dict[str, list[Any]]
Visit = Callable[[str, str], str]
"""Takes a role and a text, returns the text that replaces it."""
Rule = Callable[[Any, Visit], Any]

_KEPT_WORDS = frozenset(
    {"", "true", "false", "linux", "windows", "amd64", "arm64", "default", "kube-system", "kube-public"}
)
_is_kept = re.compile(r"[+-]?\d+|system-(cluster|node)-critical").fullmatch
_QUOTA_CLASS = ".storageclass.storage.k8s.io/"
_ZONES_SEPARATOR = "__"
"""Between the zones in a label of a PersistentVolume."""

_ROLES_OF_KINDS = {
    "Pod": "pod",
    "Node": "node",
    "CSINode": "node",
    "ResourceSlice": "node",
    "NodeResourceTopology": "node",
    "CoschedulingPodGroup": "group",
    "Namespace": "namespace",
    "CSIDriver": "driver",
    "PersistentVolume": "volume",
    "PersistentVolumeClaim": "claim",
    "ResourceClaim": "claim",
    "StorageClass": "class",
    "DeviceClass": "class",
    "PriorityClass": "class",
    "PodGroup": "group",
}
_DERIVED_KINDS = ("Deployment", "CronJob", "ReplicaSet", "StatefulSet", "Job", "ReplicationController", "DaemonSet")

REPLACED: dict[tuple[str, str], str] = {
    ("ObjectMeta", "name"): "",
    ("ObjectMeta", "generate_name"): "prefix",
    ("ObjectMeta", "namespace"): "namespace",
    ("ObjectMeta", "uid"): "uid",
    ("ObjectMeta", "labels"): "labels",
    ("ObjectMeta", "annotations"): "annotations",
    ("OwnerReference", "name"): "workload",
    ("OwnerReference", "uid"): "uid",
    ("ObjectReference", "name"): "claim",
    ("ObjectReference", "namespace"): "namespace",
    ("ObjectReference", "uid"): "uid",
    ("ResourceClaimConsumerReference", "name"): "pod",
    ("ResourceClaimConsumerReference", "uid"): "uid",
    ("CrossVersionObjectReference", "name"): "workload",
    ("LabelSelector", "match_labels"): "value",
    ("LabelSelectorRequirement", "values"): "value",
    ("NodeSelectorRequirement", "values"): "value",
    ("TopologySelectorLabelRequirement", "values"): "value",
    ("ReplicationControllerSpec", "selector"): "value",
    ("ServiceSpec", "selector"): "value",
    ("Taint", "value"): "value",
    ("Toleration", "value"): "value",
    ("DeviceTaint", "value"): "value",
    ("DeviceToleration", "value"): "value",
    ("ScopedResourceSelectorRequirement", "values"): "class",
    ("ResourceQuotaSpec", "hard"): "quota",
    ("PodAffinityTerm", "namespaces"): "namespace",
    ("PodSpec", "node_name"): "node",
    ("PodSpec", "priority_class_name"): "class",
    ("PodSpec", "node_selector"): "value",
    ("PodStatus", "nominated_node_name"): "node",
    ("PodSchedulingGroup", "pod_group_name"): "group",
    ("PodGroupSpec", "priority_class_name"): "class",
    ("PodGroupTemplate", "name"): "group",
    ("PodGroupTemplate", "priority_class_name"): "class",
    ("WorkloadPodGroupTemplateReference", "workload_name"): "workload",
    ("WorkloadPodGroupTemplateReference", "pod_group_template_name"): "group",
    ("TypedLocalObjectReference", "name"): "workload",
    ("PodDisruptionBudgetStatus", "disrupted_pods"): "keys",
    ("Container", "name"): "container",
    ("Container", "image"): "image",
    ("ContainerStatus", "name"): "container",
    ("ContainerExtendedResourceRequest", "container_name"): "container",
    ("ContainerImage", "names"): "stored-image",
    ("ContainerPort", "name"): "port",
    ("ImageVolumeSource", "reference"): "image",
    ("Volume", "name"): "volume",
    ("PersistentVolumeClaimVolumeSource", "claim_name"): "claim",
    ("PersistentVolumeClaimSpec", "volume_name"): "volume",
    ("PersistentVolumeClaimSpec", "storage_class_name"): "class",
    ("PersistentVolumeClaimSpec", "volume_attributes_class_name"): "class",
    ("PersistentVolumeSpec", "storage_class_name"): "class",
    ("PersistentVolumeSpec", "volume_attributes_class_name"): "class",
    ("CSIStorageCapacity", "storage_class_name"): "class",
    ("CSIPersistentVolumeSource", "volume_handle"): "volume",
    ("CSINodeDriver", "node_id"): "node",
    ("VolumeAttachmentSource", "persistent_volume_name"): "volume",
    ("VolumeAttachmentSpec", "node_name"): "node",
    ("AttachedVolume", "name"): "volume",
    ("AttachedVolume", "device_path"): "volume",
    ("AWSElasticBlockStoreVolumeSource", "volume_id"): "volume",
    ("AzureDiskVolumeSource", "disk_name"): "volume",
    ("AzureDiskVolumeSource", "disk_uri"): "volume",
    ("AzureFileVolumeSource", "secret_name"): "volume",
    ("AzureFileVolumeSource", "secret_namespace"): "namespace",
    ("AzureFileVolumeSource", "share_name"): "volume",
    ("CinderVolumeSource", "volume_id"): "volume",
    ("GCEPersistentDiskVolumeSource", "pd_name"): "volume",
    ("ISCSIVolumeSource", "target_portal"): "volume",
    ("ISCSIVolumeSource", "iqn"): "volume",
    ("LocalVolumeSource", "path"): "volume",
    ("PortworxVolumeSource", "volume_id"): "volume",
    ("RBDVolumeSource", "monitors"): "volume",
    ("RBDVolumeSource", "image"): "volume",
    ("RBDVolumeSource", "pool"): "volume",
    ("VsphereVirtualDiskVolumeSource", "volume_path"): "volume",
    ("PodResourceClaim", "name"): "claim",
    ("PodResourceClaim", "resource_claim_name"): "claim",
    ("PodResourceClaim", "resource_claim_template_name"): "claim",
    ("PodResourceClaimStatus", "name"): "claim",
    ("PodResourceClaimStatus", "resource_claim_name"): "claim",
    ("PodExtendedResourceClaimStatus", "resource_claim_name"): "claim",
    ("ContainerResourceClaim", "name"): "claim",
    ("ExactDeviceRequest", "device_class_name"): "class",
    ("DeviceSubRequest", "device_class_name"): "class",
    ("ResourceSliceSpec", "node_name"): "node",
    ("Device", "node_name"): "node",
    ("ResourcePool", "name"): "node",
    ("DeviceRequestAllocationResult", "pool"): "node",
    ("AllocatedDeviceStatus", "pool"): "node",
    ("DeviceTaintSelector", "pool"): "node",
}
"""Texts that are replaced, by struct and member, with their roles. An empty role is that of the object's kind. Pools of
devices are often named by their node, and devices are allocated in the order of these names, so they have one role."""

_ANNOTATION_ROLES = {
    "resource.kubernetes.io/pod-claim-name": "claim",
    "volume.beta.kubernetes.io/storage-class": "class",
    "volume.kubernetes.io/selected-node": "node",
}


def anonymized(objects: Objects) -> Objects:
    """The objects of a snapshot, by kind, without the names of their cluster."""
    found: dict[str, dict[str, None]] = {}

    def collect(role: str, text: str) -> str:
        found.setdefault(role, {}).setdefault(text)
        return text

    _walk(objects, collect)
    replacements = _replacements(found, objects)
    images = {text: f"image-{number:05}:1" for number, text in enumerate(sorted(found.get("image", ())))}

    def replace(role: str, text: str) -> str:
        return images[text] if role == "image" else replacements[text]

    return _walk(objects, replace)


def _walk(objects: Objects, visit: Visit) -> Objects:
    return {kind: [_rule_of(kind)(item, visit) for item in items] for kind, items in objects.items()}


def _replacements(found: dict[str, dict[str, None]], objects: Objects) -> dict[str, str]:
    """The new names: numbered in the order of the old ones, or made of the owner's name and the old suffix."""
    owners = {text: owner for kind in ("ReplicaSet", "Job", "Pod") for text, owner in _owned(objects.get(kind, ()))}
    roles: dict[str, str] = {}
    for role, texts in sorted(found.items(), key=lambda item: (item[0] == "value", item[0])):
        if role not in ("image", "prefix"):
            for text in texts:
                roles.setdefault(text, role)
    made: dict[str, str] = {}
    by_role: dict[str, list[str]] = {}
    for text, role in roles.items():
        if text not in owners:
            by_role.setdefault(role, []).append(text)
    for role, new in by_role.items():
        width = len(str(len(new)))
        made |= {text: f"{role}-{number:0{width}}" for number, text in enumerate(sorted(new))}

    def name(text: str) -> str:
        if text not in made:
            owner = owners[text]
            made[text] = name(owner) + text[len(owner) :]
        return made[text]

    for text in roles:
        name(text)
    # The pod-template-hash stays as in the names of ReplicaSets: by both, pods are known as those of a Deployment.
    made |= {text[len(owner) + 1 :]: text[len(owner) + 1 :] for text, owner in _owned(objects.get("ReplicaSet", ()))}
    _name_claims(found.get("claim", {}), objects, made)
    for text in found.get("prefix", ()):
        made[text] = made.get(text.removesuffix("-"), "prefix") + "-"
    return made


def _name_claims(claims: dict[str, None], objects: Objects, made: dict[str, str]) -> None:
    """Claims of ephemeral volumes are named by the pod and its volume, those of a StatefulSet's pods by a template and
    the pod."""
    pods = {item.get("metadata", {}).get("name", ""): item for item in objects.get("Pod", ())}
    for pod, item in pods.items():
        for volume in item.get("spec", {}).get("volumes") or ():
            if "ephemeral" in volume:
                name = volume["name"]
                made[f"{pod}-{name}"] = f"{made.get(pod, pod)}-{made.get(name, name)}"
    for claim in claims:
        head, dash, rest = claim.partition("-")
        while dash:
            if rest in pods:
                made[claim] = f"{made.get(head, head)}-{made.get(rest, rest)}"
                break
            more, dash, rest = rest.partition("-")
            head = f"{head}-{more}"


def _owned(items: list[Any] | tuple[()]) -> Iterator[tuple[str, str]]:
    """(name, name of the owner) of objects whose name starts with that of their owner."""
    for item in items:
        metadata = item.get("metadata", {})
        name = metadata.get("name", "")
        for reference in metadata.get("ownerReferences", ()):
            owner = reference.get("name", "")
            if reference.get("kind") in _DERIVED_KINDS and owner and name.startswith(f"{owner}-"):
                yield name, owner
                break


_rules: dict[str, Rule] = {}


def _rule_of(kind: str) -> Rule:
    found = _rules.get(kind)
    if found is None:
        struct = KINDS[kind].struct if kind in KINDS else CustomWorkload
        role = _ROLES_OF_KINDS.get(kind, "workload")
        found = _rules[kind] = _compile(inspect.type_info(struct), role) or _keep
    return found


def _compile(kind: inspect.Type, own_role: str) -> Rule | None:
    """The rule for values of a type; None if nothing in them is replaced."""
    match kind:
        case inspect.StructType(cls=struct, fields=fields):
            rules: dict[str, Rule] = {}
            for field in fields:
                role = REPLACED.get((struct.__name__, field.name))
                rule = _compile(field.type, own_role) if role is None else _replacing(role or own_role)
                if rule is not None:
                    rules[field.encode_name] = rule
            return _members(rules) if rules else None
        case inspect.DictType(value_type=value):
            rule = _compile(value, own_role)
            return None if rule is None else _entries(rule)
        case inspect.VarTupleType(item_type=item) | inspect.ListType(item_type=item):
            rule = _compile(item, own_role)
            return None if rule is None else _each(rule)
        case inspect.UnionType(types=alternatives):
            return next((rule for each in alternatives if (rule := _compile(each, own_role)) is not None), None)
        case _:
            return None


def _keep(value: Any, visit: Visit) -> Any:
    return value


def _members(rules: dict[str, Rule]) -> Rule:
    def apply(value: Any, visit: Visit) -> Any:
        if not isinstance(value, dict):
            return value
        return {key: rules[key](item, visit) if key in rules else item for key, item in value.items()}

    return apply


def _entries(rule: Rule) -> Rule:
    return lambda value, visit: (
        {key: rule(item, visit) for key, item in value.items()} if isinstance(value, dict) else value
    )


def _each(rule: Rule) -> Rule:
    return lambda value, visit: [rule(item, visit) for item in value] if isinstance(value, list | tuple) else value


def _replacing(role: str) -> Rule:
    special = {"annotations": _annotations, "labels": _labels, "quota": _quota, "keys": _keys}
    if role in special:
        return special[role]

    def apply(value: Any, visit: Visit) -> Any:
        if isinstance(value, str):
            return _text(role, value, visit)
        if isinstance(value, dict):
            return {key: apply(item, visit) for key, item in value.items()}
        return [apply(item, visit) for item in value] if isinstance(value, list | tuple) else value

    return apply


def _text(role: str, text: str, visit: Visit) -> str:
    if role == "stored-image":
        return visit("image", text)
    if role == "image":  # As ImageLocality completes the names in pods, and not those of nodes.
        return visit(role, text if ":" in text.rpartition("/")[2] else f"{text}:latest") if text else text
    if role == "driver" or text in _KEPT_WORDS or _is_kept(text):
        return text
    if role == "value" and _ZONES_SEPARATOR in text:
        return _ZONES_SEPARATOR.join(_text(role, part, visit) for part in text.split(_ZONES_SEPARATOR))
    return visit(role, text)


def _labels(value: Any, visit: Visit) -> Any:
    """Label values; the label of the plugin Coscheduling names a group."""
    if not isinstance(value, dict):
        return value
    return {
        key: _text("group" if key == COSCHEDULING_LABEL else "value", item, visit) if isinstance(item, str) else item
        for key, item in value.items()
    }


def _annotations(value: Any, visit: Visit) -> Any:
    return {
        key: _text(_ANNOTATION_ROLES[key], item, visit) if key in _ANNOTATION_ROLES else item
        for key, item in value.items()
    }


def _quota(value: Any, visit: Visit) -> Any:
    """Amounts by resource, some of which name a storage class."""

    def renamed(key: str) -> str:
        name, separator, rest = key.partition(_QUOTA_CLASS)
        return f"{_text('class', name, visit)}{separator}{rest}" if separator else key

    return {renamed(key): item for key, item in value.items()}


def _keys(value: Any, visit: Visit) -> Any:
    return {_text("pod", key, visit): item for key, item in value.items()}
