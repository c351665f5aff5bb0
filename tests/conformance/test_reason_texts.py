"""Every reason that kube-scheduler gives, word by word, with its code and its plugin."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.builders import (
    HOSTNAME,
    ZONE,
    Json,
    World,
    away,
    container,
    expressions,
    fields,
    near,
    node,
    node_affinity,
    only,
    pod,
    profile_config,
    spread,
    term,
)

from stowplan.evaluation import Evaluator

U, UU = "Unschedulable", "UnschedulableAndUnresolvable"
A = {"app": "a"}
BOUND = {"pv.kubernetes.io/bind-completed": "yes"}
PORT = [container(ports=[{"hostPort": 80, "containerPort": 80}])]
EPHEMERAL = {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
DISK = {"name": "v", "awsElasticBlockStore": {"volumeID": "vol-1"}}
CLAIM = {"name": "v", "persistentVolumeClaim": {"claimName": "x"}}
DEVICES = [{"name": "d", "resourceClaimName": "c"}]

Row = tuple[str, str, str, Json]


def claim(name: str = "x", volume: str = "", **more: Any) -> Json:
    metadata = {"name": name, "namespace": "default", "uid": name, **more.pop("metadata", {})}
    if volume:
        metadata["annotations"] = BOUND
    spec = {"storageClassName": "wait", "volumeName": volume, "resources": {"requests": {"storage": "1Gi"}}}
    return {"metadata": metadata, "spec": {**spec, **more.pop("spec", {})}, **more}


def storage_class(provisioner: str = "csi.example.com", mode: str = "WaitForFirstConsumer") -> Json:
    return {"metadata": {"name": "wait"}, "provisioner": provisioner, "volumeBindingMode": mode}


def volume(name: str = "pv", **more: Any) -> Json:
    return {
        "metadata": {"name": name, "labels": more.pop("labels", {})},
        "spec": {"capacity": {"storage": "1Gi"}, **more},
    }


def with_claim(**lists: Any) -> Json:
    return {"pod": pod("p", volumes=[CLAIM]), **lists}


def resources(**requests: Any) -> Json:
    """A pod with requests, on a node with 4 CPUs, 8Gi, 10Gi of disk and a device, half of it in use."""
    half = {"cpu": 2, "memory": "4Gi", "ephemeral-storage": "5Gi", "example.com/gpu": 1}
    extra = {"ephemeral-storage": "10Gi", "example.com/gpu": "2"}
    return {
        "pod": pod("p", requests=requests),
        "nodes": [node("n", extra=extra)],
        "pods": [pod("r", "n", requests=half)],
    }


POOLED = node_affinity(expressions("pool", "Exists"))["nodeAffinity"]
WITHOUT_OTHER_VOLUME_PLUGINS = profile_config(
    {"multiPoint": {"disabled": [{"name": n} for n in ("VolumeRestrictions", "VolumeBinding", "VolumeZone")]}}
)

FILTER: list[Row] = [
    ("node(s) were unschedulable", UU, "NodeUnschedulable", {"nodes": [node("n", unschedulable=True)]}),
    ("node(s) didn't match the requested node name", UU, "NodeName", {"pod": pod("p", nodeName="elsewhere")}),
    (
        "node(s) had untolerated taint(s)",
        UU,
        "TaintToleration",
        {"nodes": [node("n", taints=[{"key": "k", "effect": "NoExecute"}])]},
    ),
    (
        "node(s) didn't match scheduler-enforced node affinity",
        UU,
        "NodeAffinity",
        {"config": profile_config(args={"NodeAffinity": {"addedAffinity": POOLED}})},
    ),
    (
        "node(s) didn't match Pod's node affinity/selector",
        UU,
        "NodeAffinity",
        {"pod": pod("p", nodeSelector={"disk": "ssd"})},
    ),
    (
        "node(s) didn't have free ports for the requested pod ports",
        U,
        "NodePorts",
        {"pod": pod("p", containers=PORT), "pods": [pod("r", "n", containers=PORT)]},
    ),
    ("Too many pods", U, "NodeResourcesFit", {"nodes": [node("n", pods=1)], "pods": [pod("r", "n")]}),
    ("Insufficient cpu", U, "NodeResourcesFit", resources(cpu=3)),
    ("Insufficient cpu", UU, "NodeResourcesFit", resources(cpu=5)),
    ("Insufficient memory", U, "NodeResourcesFit", resources(memory="5Gi")),
    ("Insufficient memory", UU, "NodeResourcesFit", resources(memory="9Gi")),
    ("Insufficient ephemeral-storage", U, "NodeResourcesFit", resources(ephemeral_storage="6Gi")),
    ("Insufficient ephemeral-storage", UU, "NodeResourcesFit", resources(ephemeral_storage="11Gi")),
    ("Insufficient example.com/gpu", U, "NodeResourcesFit", resources(**{"example.com/gpu": 2})),
    ("Insufficient example.com/gpu", UU, "NodeResourcesFit", resources(**{"example.com/gpu": 3})),
    (
        "node(s) had no available disk",
        U,
        "VolumeRestrictions",
        {"pod": pod("p", volumes=[DISK]), "pods": [pod("r", "n", volumes=[DISK])]},
    ),
    (
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
        "already in-use by another pod",
        U,
        "VolumeRestrictions",
        with_claim(
            pods=[pod("r", "n", volumes=[CLAIM])],
            pvcs=[claim(volume="pv", spec={"accessModes": ["ReadWriteOncePod"]})],
            pvs=[volume()],
        ),
    ),
    (
        "node(s) exceed max volume count",
        U,
        "NodeVolumeLimits",
        with_claim(
            pvcs=[claim(volume="pv")],
            pvs=[volume(csi={"driver": "csi.example.com", "volumeHandle": "h"})],
            csinodes=[
                {
                    "metadata": {"name": "n"},
                    "spec": {"drivers": [{"name": "csi.example.com", "nodeID": "n", "allocatable": {"count": 0}}]},
                }
            ],
        ),
    ),
    (
        'looking up PVC default/x: persistentvolumeclaim "x" not found',
        UU,
        "NodeVolumeLimits",
        with_claim(
            config=WITHOUT_OTHER_VOLUME_PLUGINS,
            csinodes=[
                {
                    "metadata": {"name": "n"},
                    "spec": {"drivers": [{"name": "csi.example.com", "nodeID": "n", "allocatable": {"count": 9}}]},
                }
            ],
        ),
    ),
    (
        "node(s) didn't match PersistentVolume's node affinity",
        UU,
        "VolumeBinding",
        with_claim(
            pvcs=[claim(volume="pv")],
            pvs=[volume(nodeAffinity={"required": {"nodeSelectorTerms": [expressions(ZONE, "Exists")]}})],
        ),
    ),
    (
        "node(s) didn't find available persistent volumes to bind",
        UU,
        "VolumeBinding",
        with_claim(pvcs=[claim()], storageclasses=[storage_class("kubernetes.io/no-provisioner")]),
    ),
    (
        "node(s) did not have enough free storage",
        UU,
        "VolumeBinding",
        with_claim(
            pvcs=[claim()],
            storageclasses=[storage_class()],
            csidrivers=[{"metadata": {"name": "csi.example.com"}, "spec": {"storageCapacity": True}}],
        ),
    ),
    (
        "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
        UU,
        "VolumeBinding",
        with_claim(
            pvcs=[claim(volume="gone")],
            config=profile_config({"multiPoint": {"disabled": [{"name": "VolumeZone"}]}}),
        ),
    ),
    (
        "node(s) had no available volume zone",
        UU,
        "VolumeZone",
        with_claim(pvcs=[claim(volume="pv")], pvs=[volume(labels={ZONE: "b"})], nodes=[node("n", zone="a")]),
    ),
    (
        "node(s) didn't match pod topology spread constraints (missing required label)",
        UU,
        "PodTopologySpread",
        {"pod": pod("p", labels=A, topologySpreadConstraints=[spread()])},
    ),
    (
        "node(s) didn't match pod topology spread constraints",
        U,
        "PodTopologySpread",
        {
            "pod": pod("p", labels=A, topologySpreadConstraints=[spread(minDomains=2)]),
            "nodes": [node("n", zone="a")],
            "pods": [pod("r", "n", labels=A)],
        },
    ),
    (
        "node(s) didn't match pod affinity rules",
        UU,
        "InterPodAffinity",
        {"pod": pod("p", affinity=near(term(HOSTNAME)))},
    ),
    (
        "node(s) didn't match pod anti-affinity rules",
        U,
        "InterPodAffinity",
        {"pod": pod("p", affinity=away(term(HOSTNAME))), "pods": [pod("r", "n", labels=A)]},
    ),
    (
        "node(s) didn't satisfy existing pods anti-affinity rules",
        U,
        "InterPodAffinity",
        {"pod": pod("p", labels=A), "pods": [pod("r", "n", affinity=away(term(HOSTNAME)))]},
    ),
    (
        "resourceclaim not available on the node",
        UU,
        "DynamicResources",
        {
            "pod": pod("p", resourceClaims=DEVICES),
            "resourceclaims": [
                {
                    "metadata": {"name": "c", "namespace": "default"},
                    "status": {"allocation": {"nodeSelector": {"nodeSelectorTerms": [expressions(ZONE, "Exists")]}}},
                }
            ],
        },
    ),
    (
        "node(s) didn't match Pod's required features",
        UU,
        "NodeDeclaredFeatures",
        {"pod": pod("p", hostNetwork=True, hostUsers=False)},
    ),
]

PRE_FILTER: list[Row] = [
    (
        "pod affinity terms conflict",
        UU,
        "NodeAffinity",
        {
            "pod": pod(
                "p", affinity=node_affinity({"matchFields": [*fields("n")["matchFields"], *fields("m")["matchFields"]]})
            )
        },
    ),
    ('persistentvolumeclaim "x" not found', UU, "VolumeRestrictions", with_claim()),
    ("pod has unbound immediate PersistentVolumeClaims", UU, "VolumeBinding", with_claim(pvcs=[claim()])),
    (
        'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-v"',
        UU,
        "VolumeBinding",
        {"pod": pod("p", volumes=[EPHEMERAL])},
    ),
    (
        'persistentvolumeclaim "x" bound to non-existent persistentvolume "pv"',
        UU,
        "VolumeBinding",
        with_claim(pvcs=[claim(volume="pv", status={"phase": "Lost"})]),
    ),
    (
        'persistentvolumeclaim "x" is being deleted',
        UU,
        "VolumeBinding",
        with_claim(pvcs=[claim(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["f"]})]),
    ),
    (
        "PVC default/p-v was not created for pod default/p (pod is not owner)",
        UU,
        "VolumeBinding",
        {"pod": pod("p", volumes=[EPHEMERAL]), "pvcs": [claim("p-v")]},
    ),
]

PRE_ENQUEUE: list[Row] = [
    (
        "waiting for scheduling gates: [one two]",
        UU,
        "SchedulingGates",
        {"pod": pod("p", schedulingGates=[{"name": "one"}, {"name": "two"}])},
    ),
    (
        'could not find ResourceClaim "default/c"',
        UU,
        "DynamicResources",
        {"pod": pod("p", resourceClaims=DEVICES)},
    ),
]


def verdict(case: Json) -> Json:
    case = {"pod": pod("p"), "nodes": [node("n")], **case}
    answer: Json = msgspec.json.decode(msgspec.json.encode(Evaluator().line(msgspec.json.encode(case))))
    assert "error" not in answer, answer["error"]
    return answer


def named(rows: list[Row]) -> Any:
    return pytest.mark.parametrize(("reason", "code", "plugin", "case"), rows, ids=[f"{r[0]:.60}-{r[1]}" for r in rows])


@named(FILTER)
def test_filter(reason: str, code: str, plugin: str, case: Json) -> None:
    told = verdict(case)
    assert told["filter"] == {"n": {"code": code, "plugin": plugin, "reasons": [reason]}}
    assert told["message"] == f"0/1 nodes are available: 1 {reason}."
    assert told["feasible"] == []


@named(PRE_FILTER)
def test_pre_filter(reason: str, code: str, plugin: str, case: Json) -> None:
    told = verdict(case)
    assert told["preFilter"] == {"code": code, "plugin": plugin, "reasons": [reason]}
    assert told["message"] == f"0/1 nodes are available: {reason}."
    assert "filter" not in told


@named(PRE_ENQUEUE)
def test_pre_enqueue(reason: str, code: str, plugin: str, case: Json) -> None:
    assert verdict(case)["preEnqueue"] == {"code": code, "plugin": plugin, "reasons": [reason]}


def test_nodes_that_pre_filter_leaves_out() -> None:
    nodes = [node("n", unschedulable=True), node("m"), node("o")]
    told = verdict({"pod": pod("p", affinity=node_affinity(fields("n"))), "nodes": nodes})
    assert told["preFilterNodes"] == ["n"]
    assert told["message"] == (
        "0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )


def test_several_reasons_for_one_node() -> None:
    told = verdict({"pod": pod("p", requests={"cpu": 5, "memory": "1Gi"}), "nodes": [node("n", memory=0, pods=0)]})
    reasons = ["Too many pods", "Insufficient cpu", "Insufficient memory"]
    assert told["filter"] == {"n": {"code": UU, "plugin": "NodeResourcesFit", "reasons": reasons}}
    assert told["message"] == "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 1 Too many pods."


NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = "No preemption victims found for incoming pod"


def allocated(reserved_for: str) -> Json:
    """A claim whose devices are out of reach."""
    return {
        "name": "c",
        "namespace": "default",
        "status": {
            "allocation": {"nodeSelector": {"nodeSelectorTerms": [expressions(ZONE, "Exists")]}},
            "reservedFor": [{"resource": "pods", "name": reserved_for, "uid": f"default/{reserved_for}"}],
        },
    }


@pytest.mark.parametrize(
    ("item", "objects", "message"),
    [
        (
            pod("p", requests={"cpu": 5}),
            (),
            "2 Insufficient cpu. no new claims to deallocate, preemption: 0/2 nodes are available: "
            f"1 {NO_VICTIMS}, 1 {NOT_HELPFUL}.",
        ),
        (
            pod("p", requests={"cpu": 5}, preemptionPolicy="Never"),
            (),
            "2 Insufficient cpu. no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never.",
        ),
        (pod("p", volumes=[CLAIM]), (), 'persistentvolumeclaim "x" not found. not found'),
        (
            pod("p", resourceClaims=DEVICES),
            (),
            'could not find ResourceClaim "default/c". no new claims to deallocate, preemption: '
            f"0/2 nodes are available: 2 {NOT_HELPFUL}.",
        ),
        (
            pod("p", resourceClaims=DEVICES),
            (allocated("p"),),
            "2 resourceclaim not available on the node. deallocation of ResourceClaim completed, preemption: "
            f"0/2 nodes are available: 2 {NOT_HELPFUL}.",
        ),
        (
            pod("p", resourceClaims=DEVICES),
            (allocated("other"),),
            "2 resourceclaim not available on the node. still not schedulable, preemption: "
            f"0/2 nodes are available: 2 {NOT_HELPFUL}.",
        ),
    ],
)
def test_post_filter(item: Json, objects: tuple[Json, ...], message: str) -> None:
    """A node too small for five CPUs, and one that is big enough but in use by a pod of the same priority."""
    world = World([node("small"), node("big", cpu=8)], [pod("r", "big", requests={"cpu": 4})])
    for fields_ in objects:
        world.put("ResourceClaim", **fields_)
    for _ in range(3):
        assert world.decide(item).message == f"0/2 nodes are available: {message}"


def test_terminating_victim() -> None:
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    leaving = pod("r", "n", requests={"cpu": 4}, priority=-1, status={"conditions": [condition]})
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    world = World([node("n")], [leaving])
    told = world.decide(pod("p", requests={"cpu": 4}, nominated="n")).message
    assert told.endswith("preemption: not eligible due to a terminating pod on the nominated node.")


def test_no_nodes() -> None:
    decision = World().decide(pod("p"))
    assert decision.message == "no nodes available to schedule pods"
    assert decision.error is not None
    assert decision.error.plugin == ""


def test_without_post_filters() -> None:
    world = World([node("n", cpu=1)], config=profile_config(only("postFilter")))
    assert world.decide(pod("p", requests={"cpu": 2})).message == "0/1 nodes are available: 1 Insufficient cpu."
