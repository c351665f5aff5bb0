"""Anonymized objects hold no name of their cluster, and are scheduled as the originals."""

from __future__ import annotations

import os
from typing import Any

import msgspec
import pytest
from msgspec import inspect
from tests.builders import Json, World
from tests.conformance.recorded import CATEGORIES, recorded

from stowplan import api
from stowplan.api import codec
from stowplan.api.kinds import CASE_LISTS, KINDS
from stowplan.api.sanitization import Sanitizer
from stowplan.evaluation.case import Case
from stowplan.simulator.input.anonymization import REPLACED, anonymized
from stowplan.simulator.input.manifests import SIMULATED

STEP = int(os.environ.get("STOWPLAN_ANONYMIZED_EVERY", "12"))
"""One in so many recorded cases; 1 for all."""

KEPT = """
AllocatedDeviceStatus driver device share_id|AllocationResult allocation_timestamp|CELDeviceSelector expression
CSIDriverSpec volume_lifecycle_modes|CSINodeDriver name topology_keys|CSIPersistentVolumeSource driver volume_attributes
CSIStorageCapacity capacity maximum_volume_size|CSIVolumeSource driver|CapacityRequestPolicy default valid_values
CapacityRequestPolicyRange min max step|CapacityRequirements requests
Condition type status last_transition_time reason message|Container restart_policy
ContainerExtendedResourceRequest resource_name request_name|ContainerPort protocol host_ip
ContainerResourceClaim request|ContainerRestartRule action|ContainerStatus allocated_resources|Counter value
CounterSet name counters|CrossVersionObjectReference api_version kind
Device name attributes capacity binding_conditions binding_failure_conditions
DeviceAllocationConfiguration source requests
DeviceAttribute string_value version_value string_values version_values|DeviceCapacity value
DeviceClaimConfiguration requests|DeviceClassSpec extended_resource_name
DeviceConstraint requests match_attribute distinct_attribute|DeviceCounterConsumption counter_set counters
DeviceRequest name
DeviceRequestAllocationResult request driver device binding_conditions binding_failure_conditions share_id
DeviceRequestAllocationResult consumed_capacity|NodeSystemInfo kubelet_version
DeviceSubRequest name allocation_mode|DeviceTaint key effect time_added|DeviceToleration key operator effect
ExactDeviceRequest allocation_mode|JobSpec completion_mode|JobStatus completed_indexes
LabelSelectorRequirement key operator|LimitRangeItem type max min default default_request max_limit_request_ratio
NodeSelectorRequirement key operator|NodeStatus capacity allocatable declared_features
ObjectMeta resource_version creation_timestamp deletion_timestamp finalizers
ObjectReference api_version kind resource_version field_path|OpaqueDeviceConfiguration driver
OwnerReference api_version kind|PersistentVolumeClaimSpec access_modes volume_mode
PersistentVolumeClaimStatus phase access_modes capacity|PersistentVolumeSpec capacity access_modes volume_mode
PersistentVolumeStatus phase|PodAffinityTerm topology_key match_label_keys mismatch_label_keys
PodDisruptionBudgetSpec min_available max_unavailable|PodSchedulingGate name
PodSpec scheduler_name preemption_policy overhead restart_policy
PodGroupSpec disruption_mode|PodGroupTemplate disruption_mode|TopologyConstraint key
TypedLocalObjectReference api_group kind
PodStatus phase start_time resize allocated_resources|PriorityClass preemption_policy
ResourceClaimConsumerReference api_group resource|ResourceQuotaSpec scopes|ResourceRequirements requests limits
ResourceSliceSpec driver|ScopedResourceSelectorRequirement scope_name operator|StatefulSetSpec pod_management_policy
StorageClass provisioner parameters volume_binding_mode|Taint key effect|Toleration key operator effect
TopologySelectorLabelRequirement key
TopologySpreadConstraint topology_key when_unsatisfiable node_affinity_policy node_taints_policy match_label_keys
CoschedulingPodGroupSpec min_resources|ElasticQuotaSpec min max
NodeResourceTopology topology_policies|TopologyAttribute name value
TopologyZone name type|ZoneCost name|ZoneResource name capacity allocatable available
VolumeAttachmentSpec attacher|VolumeResourceRequirements requests limits
"""
"""Texts that are kept, by struct. A member that is added here is in every anonymized snapshot."""


def test_every_text_is_either_replaced_or_kept_on_purpose() -> None:
    rows = [row.split() for line in KEPT.splitlines() for row in line.split("|") if row]
    kept = {(struct, name) for struct, *names in rows for name in names}
    found: set[tuple[str, str]] = set()
    seen: set[type] = set()

    def walk(kind: inspect.Type) -> bool:
        """Whether the type is text, or holds texts in lists or maps."""
        match kind:
            case inspect.StructType(cls=struct, fields=fields):
                if struct not in seen:
                    seen.add(struct)
                    found.update((struct.__name__, field.name) for field in fields if walk(field.type))
                return False
            case inspect.DictType(value_type=value):
                walk(value)
                return True
            case inspect.VarTupleType(item_type=item) | inspect.ListType(item_type=item):
                return walk(item)
            case inspect.UnionType(types=alternatives):
                return any(list(map(walk, alternatives)))
            case _:
                return isinstance(kind, inspect.StrType)

    for each in SIMULATED.values():
        walk(inspect.type_info(each.struct))
    unused = {("DeviceTaintSelector", "pool")}
    assert found - kept - REPLACED.keys() == set()
    assert (kept | REPLACED.keys()) - found - unused == set()


def plain(case: Case) -> Json:
    """The objects of a case by kind. The pod itself is the last pod, nominated pods are before it."""
    sanitizer = Sanitizer()
    found: dict[str, list[Any]] = {}
    lists = {kind.name: getattr(case, field) for field, kind in CASE_LISTS.items()}
    lists["Pod"] = (*case.pods, *case.nominated_pods, case.pod)
    for kind, items in lists.items():
        found[kind] = [sanitizer.sanitize(KINDS[kind].struct, codec.builtins(item)) for item in items]
    return found


def renamed(case: Case, objects: Json) -> Case:
    typed = {kind: [codec.convert(KINDS[kind].struct, each) for each in items] for kind, items in objects.items()}
    pods = typed.pop("Pod")
    count = len(case.pods)
    lists = {field: tuple(typed[kind.name]) for field, kind in CASE_LISTS.items() if kind.name in typed}
    return msgspec.structs.replace(
        case, **lists, pods=tuple(pods[:count]), nominated_pods=tuple(pods[count:-1]), pod=pods[-1]
    )


def verdict(case: Case, names: dict[str, str]) -> Json:
    """The decision about a case, with other names of nodes and pods, and without texts."""
    world, pod = World.of_case(case)
    record = world.profile.explain_decision(pod).record()
    preemption = record.preemption

    def name(text: str) -> str:
        short = text.rpartition("/")[2]
        return names.get(short, short)

    return {
        "node": name(record.node),
        "tied": sorted(map(name, record.tied)),
        "feasible": sorted(map(name, record.feasible)),
        "totals": {name(node): total for node, total in record.totals.items()},
        "scores": {name(node): scores for node, scores in record.scores.items()},
        "rejected": {name(node): (each.plugin, each.code) for node, each in record.rejected.items()},
        "preFilter": None if record.pre_filter is None else record.pre_filter.plugin,
        "error": bool(record.error),
        "candidates": []
        if preemption is None
        else sorted((name(each.node), sorted(map(name, each.victims))) for each in preemption.candidates),
        "chosen": "" if preemption is None else name(preemption.chosen),
    }


@pytest.mark.parametrize("category", CATEGORIES)
def test_decisions_about_anonymized_objects_are_the_same(category: str) -> None:
    # A configuration may name nodes and labels, and is not part of a snapshot.
    cases = [(question.id, case) for question in recorded(category) if (case := question.read()).config is None]
    for number, case in cases[::STEP]:
        before = plain(case)
        after = anonymized(before)
        names = {
            old["metadata"]["name"]: new["metadata"]["name"]
            for kind in ("Node", "Pod")
            for old, new in zip(before[kind], after[kind], strict=True)
        }
        assert verdict(renamed(case, after), {}) == verdict(renamed(case, before), names), number


def meta(name: str, owner: tuple[str, str] | None = None, **more: Any) -> Json:
    references = [{"kind": owner[0], "name": owner[1], "uid": f"uid-{owner[1]}", "controller": True}] if owner else []
    return {"name": name, "namespace": "shop", "uid": f"uid-{name}", "ownerReferences": references, **more}


def test_no_name_is_left_and_owners_stay_recognizable() -> None:
    spec = {
        "nodeName": "secret-node",
        "nodeSelector": {"team": "secret-team", "cores": "16", "kubernetes.io/os": "linux"},
        "containers": [{"name": "secret-app", "image": "registry.secret/app"}],
        "volumes": [
            {"name": "data", "persistentVolumeClaim": {"claimName": "data-secret-db-0"}},
            {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}},
        ],
        "priorityClassName": "system-cluster-critical",
    }
    labels = {"app": "secret-db", "statefulset.kubernetes.io/pod-name": "secret-db-0"}
    objects: dict[str, list[Any]] = {
        "Namespace": [{"metadata": {"name": "shop", "labels": {"kubernetes.io/metadata.name": "shop"}}}],
        "Node": [
            {
                "metadata": {"name": "secret-node", "labels": {"kubernetes.io/hostname": "secret-node"}},
                "status": {"images": [{"names": ["registry.secret/app:latest"], "sizeBytes": 1}]},
            }
        ],
        "StatefulSet": [{"metadata": meta("secret-db")}],
        "Pod": [{"metadata": meta("secret-db-0", ("StatefulSet", "secret-db"), labels=labels), "spec": spec}],
        "PersistentVolumeClaim": [{"metadata": meta(name)} for name in ("data-secret-db-0", "secret-db-0-scratch")],
    }
    found = anonymized(objects)
    text = codec.encode(found).decode()
    assert "secret" not in text
    assert "shop" not in text
    pod = codec.convert(api.Pod, found["Pod"][0])
    owner = found["StatefulSet"][0]["metadata"]["name"]
    assert pod.metadata.name == f"{owner}-0" == pod.metadata.labels["statefulset.kubernetes.io/pod-name"]
    assert pod.metadata.labels["app"] == owner
    claim = found["PersistentVolumeClaim"][0]["metadata"]["name"]
    assert found["Pod"][0]["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"] == claim
    assert claim.endswith(pod.metadata.name)
    ephemeral = found["PersistentVolumeClaim"][1]["metadata"]["name"]
    assert ephemeral == f"{pod.metadata.name}-{pod.spec.volumes[1].name}"
    node = found["Node"][0]
    assert pod.spec.node_name == node["metadata"]["name"] == node["metadata"]["labels"]["kubernetes.io/hostname"]
    assert pod.spec.containers[0].image == node["status"]["images"][0]["names"][0]
    assert found["Namespace"][0]["metadata"]["labels"]["kubernetes.io/metadata.name"] == pod.metadata.namespace
    assert pod.spec.node_selector["cores"] == "16"
    assert pod.spec.node_selector["kubernetes.io/os"] == "linux"
    assert pod.spec.priority_class_name == "system-cluster-critical"
