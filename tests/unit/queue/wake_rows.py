"""What wakes a pod that a plugin rejected: for every registration of every in-tree plugin, a change of the cluster that
wakes the pod and, where the plugin looks closer, one of the same sort that does not."""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.builders import ZONE, Json, away, container, near, node, pod, spread, term


class Change(NamedTuple):
    """What happens to an object: the pending pod's own, or another one, of the kind that a row is about."""

    old: Json | None
    new: Json | None
    own: bool = False
    unscheduled: bool = False


class Row(NamedTuple):
    plugin: str
    resource: str
    action: str
    rejected: Json
    wakes: Change | None
    leaves: Change | None = None
    objects: tuple[tuple[str, Json], ...] = ()


def added(item: Json) -> Change:
    return Change(None, item)


def updated(old: Json, new: Json) -> Change:
    return Change(old, new)


def deleted(item: Json) -> Change:
    return Change(item, None)


def own(old: Json, new: Json) -> Change:
    return Change(old, new, own=True)


def thing(name: str, namespace: str = "", **more: Any) -> Json:
    metadata = {"name": name, "uid": f"uid-{name}", **({"namespace": namespace} if namespace else {})}
    return {"metadata": {**metadata, **more.pop("metadata", {})}, **more}


def claim(name: str = "c", **more: Any) -> Json:
    return thing(name, "default", **more)


def with_volume(name: str = "p", on: str = "", **source: Any) -> Json:
    return pod(name, on, volumes=[{"name": "v", **source}])


def with_claim(name: str = "p", on: str = "") -> Json:
    return with_volume(name, on, persistentVolumeClaim={"claimName": "c"})


def with_port(name: str, port: int, on: str = "") -> Json:
    return pod(name, on, containers=[container(ports=[{"hostPort": port}])])


def csi_node(limit: int = 1, **annotations: str) -> Json:
    driver = {"name": "d", "allocatable": {"count": limit}}
    return thing("n", metadata={"annotations": annotations}, spec={"drivers": [driver]})


def labelled(name: str, app: str, on: str = "n") -> Json:
    return pod(name, on, labels={"app": app})


def spreading(**constraint: Any) -> Json:
    return pod("p", labels={"app": "a"}, topologySpreadConstraints=[spread(**constraint)])


def attachment(attacher: str) -> Json:
    return thing("a", spec={"attacher": attacher, "nodeName": "n", "source": {}})


def storage_class(mode: str = "Immediate", zone: str = "z", **more: Any) -> Json:
    topologies = [{"matchLabelExpressions": [{"key": ZONE, "values": [zone]}]}]
    return thing("fast", volumeBindingMode=mode, provisioner="d", allowedTopologies=topologies, **more)


def device_class(resource: str) -> Json:
    return thing("gpus", spec={"extendedResourceName": resource})


def generated(*claims: str) -> Json:
    """A pod whose claim is made from a template, and is known under these names."""
    statuses = [{"name": "c", "resourceClaimName": name} for name in claims]
    wanted = [{"name": "c", "resourceClaimTemplateName": "t"}]
    return pod("p", resourceClaims=wanted, status={"resourceClaimStatuses": statuses})


PLAIN = pod("p")
TAINT = {"key": "k", "effect": "NoSchedule"}
TOLERATION = {"key": "k", "operator": "Exists"}
CORDON = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}
NODE, ZONED, TAINTED = node("n"), node("n", zone="z"), node("n", taints=[TAINT])
SSD = node("n", labels={"disk": "ssd"})
RELABELLED = node("n", labels={"any": "thing"})
WANTS_SSD = pod("p", nodeSelector={"disk": "ssd"})
TOLERANT = pod("p", tolerations=[TOLERATION])
OTHERS_TOLERATION = Change(pod("q"), pod("q", tolerations=[TOLERATION]), unscheduled=True)
WANTS_CPU = pod("p", requests={"cpu": 2})
WANTS_GPU = pod("p", requests={"example.com/gpu": 1})
GCE, OTHER_GCE = {"gcePersistentDisk": {"pdName": "d"}}, {"gcePersistentDisk": {"pdName": "e"}}
EBS = with_volume(awsElasticBlockStore={"volumeID": "v"})
INLINE = with_volume(csi={"driver": "d"})
HONORS_TAINTS = {"nodeTaintsPolicy": "Honor"}
NEAR, AWAY = pod("p", affinity=near(term())), pod("p", affinity=away(term()))
CLAIMS = pod("p", resourceClaims=[{"name": "c", "resourceClaimName": "c"}])
RESERVED = claim(status={"reservedFor": [{"resource": "pods", "name": "p", "uid": "default/p"}]})
OWNED = claim(
    "made", metadata={"ownerReferences": [{"kind": "Pod", "name": "p", "uid": "default/p", "controller": True}]}
)
FEATURE = {"hostNetwork": True, "hostUsers": False}
UNTAINTED = updated(TAINTED, NODE)
PVC, PV = "PersistentVolumeClaim", "PersistentVolume"

ROWS = [
    Row(
        "SchedulingGates",
        "Pod",
        "UpdatePodSchedulingGatesEliminated",
        pod("p", schedulingGates=[{"name": "g"}]),
        own(pod("p", schedulingGates=[{"name": "g"}]), PLAIN),
        Change(pod("q", schedulingGates=[{"name": "g"}]), pod("q"), unscheduled=True),
    ),
    Row("NodeUnschedulable", "Node", "Add", PLAIN, added(NODE), added(node("n", unschedulable=True))),
    Row("NodeUnschedulable", "Node", "UpdateNodeTaint", PLAIN, updated(node("n", unschedulable=True), NODE), UNTAINTED),
    Row(
        "NodeUnschedulable",
        "Pod",
        "UpdatePodToleration",
        PLAIN,
        own(PLAIN, pod("p", tolerations=[CORDON])),
        own(PLAIN, TOLERANT),
    ),
    Row("TaintToleration", "Node", "Add", PLAIN, added(NODE), added(TAINTED)),
    Row("TaintToleration", "Node", "UpdateNodeTaint", PLAIN, UNTAINTED, updated(NODE, TAINTED)),
    Row("TaintToleration", "Pod", "UpdatePodToleration", PLAIN, own(PLAIN, TOLERANT), OTHERS_TOLERATION),
    Row("NodeName", "Node", "Add", PLAIN, added(NODE)),
    Row("NodeName", "Node", "UpdateNodeTaint", PLAIN, UNTAINTED),
    Row(
        "NodePorts",
        "Pod",
        "Delete",
        with_port("p", 80),
        *map(deleted, (with_port("q", 80, "n"), with_port("q", 81, "n"))),
    ),
    Row("NodePorts", "Node", "Add", PLAIN, added(NODE)),
    Row("NodePorts", "Node", "UpdateNodeTaint", PLAIN, UNTAINTED),
    Row("NodeAffinity", "Node", "Add", WANTS_SSD, added(SSD), added(NODE)),
    Row("NodeAffinity", "Node", "UpdateNodeLabel", WANTS_SSD, updated(NODE, SSD), updated(NODE, RELABELLED)),
    Row("NodeAffinity", "Node", "UpdateNodeTaint", WANTS_SSD, UNTAINTED),
    Row("NodeResourcesFit", "Pod", "Delete", WANTS_CPU, deleted(pod("q", "n")), deleted(pod("q"))),
    Row(
        "NodeResourcesFit",
        "Pod",
        "UpdatePodScaleDown",
        WANTS_CPU,
        updated(pod("q", "n", requests={"cpu": 2}), pod("q", "n", requests={"cpu": 1})),
        updated(pod("q", "n", requests={"memory": 2}), pod("q", "n", requests={"memory": 1})),
    ),
    Row("NodeResourcesFit", "Node", "Add", WANTS_CPU, added(node("n", 2)), added(node("n", 1))),
    Row(
        "NodeResourcesFit",
        "Node",
        "UpdateNodeAllocatable",
        WANTS_CPU,
        updated(node("n", 1), node("n", 2)),
        updated(node("n", 4), node("n", 3)),
    ),
    Row("NodeResourcesFit", "Node", "UpdateNodeTaint", WANTS_CPU, UNTAINTED),
    Row(
        "NodeResourcesFit",
        "DeviceClass",
        "Add",
        WANTS_GPU,
        added(device_class("example.com/gpu")),
        added(device_class("example.com/nic")),
    ),
    Row(
        "NodeResourcesFit",
        "DeviceClass",
        "Update",
        WANTS_GPU,
        updated(device_class(""), device_class("example.com/gpu")),
        updated(device_class("example.com/gpu"), device_class("example.com/nic")),
    ),
    Row(
        "VolumeRestrictions",
        "Pod",
        "Delete",
        with_volume(**GCE),
        deleted(with_volume("q", "n", **GCE)),
        deleted(with_volume("q", "n", **OTHER_GCE)),
    ),
    Row("VolumeRestrictions", "Node", "Add", PLAIN, added(NODE)),
    Row("VolumeRestrictions", "Node", "UpdateNodeTaint", PLAIN, UNTAINTED),
    Row("VolumeRestrictions", PVC, "Add", with_claim(), added(claim()), added(claim("other"))),
    Row("NodeVolumeLimits", "CSINode", "Add", with_claim(), added(csi_node())),
    Row("NodeVolumeLimits", "CSINode", "Update", with_claim(), *(updated(csi_node(2), csi_node(n)) for n in (3, 1))),
    Row("NodeVolumeLimits", "Pod", "Delete", with_claim(), deleted(with_claim("q", "n")), deleted(pod("q", "n"))),
    Row("NodeVolumeLimits", PVC, "Add", with_claim(), added(claim()), added(claim("other"))),
    Row(
        "NodeVolumeLimits", "VolumeAttachment", "Delete", EBS, *map(deleted, map(attachment, ("ebs.csi.aws.com", "d")))
    ),
    Row("VolumeBinding", "StorageClass", "Add", with_claim(), added(storage_class())),
    Row(
        "VolumeBinding",
        "StorageClass",
        "Update",
        with_claim(),
        updated(storage_class(), storage_class(zone="y")),
        updated(storage_class(), storage_class("WaitForFirstConsumer")),
    ),
    Row("VolumeBinding", PVC, "Add", with_claim(), added(claim()), added(claim("other"))),
    Row("VolumeBinding", PVC, "Update", with_claim(), *(updated(claim(name), claim(name)) for name in ("c", "other"))),
    Row("VolumeBinding", PV, "Add", with_claim(), added(thing("pv"))),
    Row("VolumeBinding", PV, "Update", with_claim(), updated(thing("pv"), thing("pv"))),
    Row("VolumeBinding", "Node", "Add", with_claim(), added(NODE)),
    Row("VolumeBinding", "Node", "UpdateNodeLabel", with_claim(), updated(NODE, RELABELLED)),
    Row("VolumeBinding", "Node", "UpdateNodeTaint", with_claim(), UNTAINTED),
    Row("VolumeBinding", "CSINode", "Add", with_claim(), added(csi_node())),
    Row(
        "VolumeBinding",
        "CSINode",
        "Update",
        with_claim(),
        updated(csi_node(), csi_node(**{"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"})),
        updated(csi_node(1), csi_node(2)),
    ),
    Row(
        "VolumeBinding",
        "CSIDriver",
        "Update",
        INLINE,
        *(
            updated(thing("d", spec={"storageCapacity": before}), thing("d", spec={"storageCapacity": not before}))
            for before in (True, False)
        ),
    ),
    Row("VolumeBinding", "CSIStorageCapacity", "Add", with_claim(), added(claim(capacity="1Gi"))),
    Row(
        "VolumeBinding",
        "CSIStorageCapacity",
        "Update",
        with_claim(),
        *(updated(claim(capacity="2Gi"), claim(capacity=now)) for now in ("3Gi", "1Gi")),
    ),
    Row(
        "VolumeZone", "StorageClass", "Add", with_claim(), *map(added, map(storage_class, ("WaitForFirstConsumer", "")))
    ),
    Row("VolumeZone", "Node", "Add", with_claim(), added(NODE)),
    Row("VolumeZone", "Node", "UpdateNodeLabel", with_claim(), updated(NODE, RELABELLED)),
    Row("VolumeZone", "Node", "UpdateNodeTaint", with_claim(), UNTAINTED),
    Row("VolumeZone", PVC, "Add", with_claim(), added(claim()), added(claim("other"))),
    Row("VolumeZone", PVC, "Update", with_claim(), *(updated(claim(name), claim(name)) for name in ("c", "other"))),
    Row("VolumeZone", PV, "Add", with_claim(), added(thing("pv"))),
    Row(
        "VolumeZone",
        PV,
        "Update",
        with_claim(),
        *(updated(thing("pv"), thing("pv", metadata={"labels": {key: "z"}})) for key in (ZONE, "any")),
    ),
    Row("PodTopologySpread", "Pod", "Add", spreading(), added(labelled("q", "a")), added(labelled("q", "b"))),
    Row("PodTopologySpread", "Pod", "Delete", spreading(), deleted(labelled("q", "a")), deleted(labelled("q", "b"))),
    Row(
        "PodTopologySpread",
        "Pod",
        "UpdatePodLabel",
        spreading(),
        updated(labelled("q", "a"), labelled("q", "b")),
        updated(labelled("q", "b"), labelled("q", "c")),
    ),
    Row(
        "PodTopologySpread",
        "Pod",
        "UpdatePodToleration",
        spreading(**HONORS_TAINTS),
        own(
            spreading(**HONORS_TAINTS),
            {**(s := spreading(**HONORS_TAINTS)), "spec": {**s["spec"], "tolerations": [TOLERATION]}},
        ),
        updated(labelled("q", "a"), pod("q", "n", labels={"app": "a"}, tolerations=[TOLERATION])),
    ),
    Row("PodTopologySpread", "Node", "Add", spreading(), added(ZONED), added(NODE)),
    Row("PodTopologySpread", "Node", "Delete", spreading(), deleted(ZONED), deleted(NODE)),
    Row("PodTopologySpread", "Node", "UpdateNodeLabel", spreading(), updated(NODE, ZONED), updated(NODE, RELABELLED)),
    Row(
        "PodTopologySpread",
        "Node",
        "UpdateNodeTaint",
        spreading(),
        updated(node("n", zone="z", taints=[TAINT]), ZONED),
        UNTAINTED,
    ),
    Row("InterPodAffinity", "Pod", "Add", NEAR, added(labelled("q", "a")), added(labelled("q", "b"))),
    Row("InterPodAffinity", "Pod", "Delete", AWAY, deleted(labelled("q", "a")), deleted(labelled("q", "b"))),
    Row(
        "InterPodAffinity",
        "Pod",
        "UpdatePodLabel",
        NEAR,
        updated(labelled("q", "b"), labelled("q", "a")),
        updated(labelled("q", "a"), labelled("q", "b")),
    ),
    Row("InterPodAffinity", "Node", "Add", NEAR, added(ZONED), added(NODE)),
    Row("InterPodAffinity", "Node", "UpdateNodeLabel", NEAR, updated(NODE, ZONED), updated(ZONED, NODE)),
    Row("InterPodAffinity", "Node", "UpdateNodeTaint", NEAR, UNTAINTED),
    Row("DynamicResources", "Node", "Add", PLAIN, added(NODE)),
    Row("DynamicResources", "Node", "UpdateNodeLabel", PLAIN, updated(NODE, RELABELLED)),
    Row("DynamicResources", "Node", "UpdateNodeAllocatable", PLAIN, updated(node("n", 4), node("n", 3))),
    Row("DynamicResources", "Node", "UpdateNodeTaint", PLAIN, UNTAINTED),
    Row("DynamicResources", "ResourceClaim", "Add", CLAIMS, added(claim()), added(claim("other"))),
    Row(
        "DynamicResources",
        "ResourceClaim",
        "Update",
        CLAIMS,
        updated(claim(), RESERVED),
        updated(claim(), claim(metadata={"labels": {"any": "thing"}})),
        (("ResourceClaim", claim()),),
    ),
    Row(
        "DynamicResources",
        "Pod",
        "UpdatePodGeneratedResourceClaim",
        generated(),
        own(generated(), generated("made")),
        own(generated(), generated("missing")),
        (("ResourceClaim", OWNED),),
    ),
    Row("DynamicResources", "DeviceClass", "Add", PLAIN, added(device_class(""))),
    Row("DynamicResources", "DeviceClass", "Update", PLAIN, updated(device_class(""), device_class(""))),
    Row("DynamicResources", "ResourceSlice", "Add", PLAIN, added(thing("s"))),
    Row("DynamicResources", "ResourceSlice", "Update", PLAIN, updated(thing("s"), thing("s"))),
    Row("DefaultPreemption", "Pod", "Delete", PLAIN, None, deleted(pod("q", "n"))),
    Row("NodeDeclaredFeatures", "Node", "Add", PLAIN, added(NODE)),
    Row(
        "NodeDeclaredFeatures",
        "Node",
        "UpdateNodeDeclaredFeature",
        PLAIN,
        updated(NODE, node("n", status={"declaredFeatures": ["UserNamespacesHostNetworkSupport"]})),
    ),
    Row("NodeDeclaredFeatures", "Node", "UpdateNodeTaint", PLAIN, UNTAINTED),
    Row(
        "NodeDeclaredFeatures", "Pod", "Update", pod("p", **FEATURE), own(pod("p", **FEATURE), PLAIN), own(PLAIN, PLAIN)
    ),
]
