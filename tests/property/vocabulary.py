"""Nodes, pods and objects that random clusters are drawn from: few labels, ports and claims, so that they collide.

All objects are JSON without a name, which the caller adds.
"""

from __future__ import annotations

from typing import Any

from tests.builders import (
    HOSTNAME,
    ZONE,
    Json,
    away,
    container,
    expressions,
    fields,
    near,
    node,
    node_affinity,
    pod,
    selector,
    spread,
    term,
    weighted,
)

TAINT = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}
SOFT_TAINT = {"key": "old", "effect": "PreferNoSchedule"}
EVICTING_TAINT = {"key": "down", "effect": "NoExecute"}
IMAGES = [{"names": ["app:1"], "sizeBytes": 900 << 20}, {"names": ["tool:latest", "tool:2"], "sizeBytes": 300 << 20}]

HUGE = str(2**53 + 1)
"""The least integer that a float cannot hold."""

NODES: tuple[dict[str, Any], ...] = (
    {"zone": "a"},
    {"zone": "b"},
    {"zone": "c", "cpu": 1, "memory": "1Gi", "pods": 3},
    {"cpu": 2},
    {"zone": "a", "taints": [TAINT]},
    {"zone": "b", "taints": [SOFT_TAINT]},
    {"zone": "a", "unschedulable": True},
    {"zone": "c", "labels": {"disk": "ssd", "rack": "7"}, "extra": {"example.com/gpu": "2"}, "images": IMAGES[:1]},
    {"zone": "b", "labels": {"disk": "hdd"}, "images": IMAGES, "memory": "3Gi"},
    {"zone": "c", "cpu": 0, "memory": 0},
    {"zone": "d", "cpu": 64, "memory": "256Gi", "taints": [SOFT_TAINT, {**SOFT_TAINT, "key": "slow"}]},
    {"zone": "a", "labels": {HOSTNAME: "shared", "rack": "12"}, "extra": {"ephemeral-storage": "20Gi"}},
    {"zone": "b", "taints": [EVICTING_TAINT], "labels": {"disk": "ssd"}},
    {"zone": "a", "pods": 0},
    {"zone": "b", "cpu": "3999m", "memory": "8589934591", "extra": {"hugepages-2Mi": "64Mi", "example.com/gpu": "0"}},
    {"zone": "c", "memory": HUGE, "cpu": f"{HUGE}m", "extra": {"example.com/gpu": HUGE}},
)

TOLERATE_ALL = [{"operator": "Exists"}]
A, B, C = {"app": "a"}, {"app": "b"}, {"app": "c", "tier": "web"}


def _port(number: int, **more: Any) -> Json:
    return container(cpu="100m", ports=[{"hostPort": number, "containerPort": number, **more}])


def _claim(name: str) -> Json:
    return {"name": name, "persistentVolumeClaim": {"claimName": name}}


PODS: tuple[dict[str, Any], ...] = (
    {"labels": A, "requests": {"cpu": "500m", "memory": "512Mi"}},
    {"labels": B},
    {"labels": C, "requests": {"cpu": "3"}, "priority": 10},
    {"labels": A, "requests": {"cpu": "1", "example.com/gpu": 1}},
    {"labels": B, "containers": [_port(80)]},
    {"labels": B, "containers": [_port(80, hostIP="10.0.0.1", protocol="UDP"), _port(80, hostIP="10.0.0.1")]},
    {"nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "down", "operator": "Exists"}]},
    {
        "labels": A,
        "affinity": node_affinity(
            expressions("rack", "Gt", "5"),
            expressions(ZONE, "NotIn", "a", "c"),
            preferred=[{"weight": 7, "preference": expressions("disk", "Exists")}],
        ),
    },
    {"labels": C, "tolerations": [{"key": "dedicated", "value": "x"}], "requests": {"memory": "2Gi"}},
    {"labels": A, "topologySpreadConstraints": [spread()], "requests": {"cpu": "200m"}},
    {"labels": A, "topologySpreadConstraints": [spread(HOSTNAME, 1, minDomains=4), spread(ZONE, 2)]},
    {"labels": B, "topologySpreadConstraints": [spread(hard=False, app="b"), spread(HOSTNAME, 3, hard=False, app="a")]},
    {"labels": A, "topologySpreadConstraints": [spread(nodeTaintsPolicy="Honor", nodeAffinityPolicy="Ignore")]},
    {"labels": A, "affinity": away(term(HOSTNAME))},
    {"labels": B, "affinity": away(term(ZONE, "a"), term("rack", "b"))},
    {"labels": A, "affinity": near(term(ZONE))},
    {"labels": C, "affinity": near(term(HOSTNAME, "b")), "tolerations": TOLERATE_ALL},
    {
        "labels": C,
        "affinity": near(preferred=[weighted(40, term(ZONE, "a"))])
        | away(preferred=[weighted(100, term(HOSTNAME, "c")), weighted(3, term("rack", "b"))]),
    },
    {"labels": A, "namespace": "other", "affinity": away(term(ZONE, "a", namespaceSelector={}))},
    {"labels": B, "affinity": near(preferred=[weighted(9, term(ZONE, "a", namespaceSelector=selector(team="x")))])},
    {"labels": A, "priority": 100, "requests": {"cpu": "2", "memory": "1Gi"}},
    {"labels": B, "priority": -5, "requests": {"cpu": "1"}},
    {"labels": C, "priority": 100, "requests": {"cpu": "2"}, "preemptionPolicy": "Never"},
    {"containers": [container(image="tool")], "initContainers": [container("i", "app:1", cpu="2")], "labels": C},
    {"labels": A, "volumes": [_claim("once")]},
    {"labels": B, "volumes": [_claim("shared"), {"name": "d", "awsElasticBlockStore": {"volumeID": "v"}}]},
    {"labels": A, "volumes": [_claim("migrated")]},
    {"labels": C, "volumes": [_claim("migrated"), _claim("waiting")], "priority": 30},
    {"labels": A, "affinity": node_affinity(fields("n1"), fields("n2"))},
    {"labels": {**A, "apps.kubernetes.io/pod-index": "0"}, "requests": {"cpu": "100m"}},
    {"labels": {**A, "apps.kubernetes.io/pod-index": "1"}, "requests": {"cpu": "100m"}},
    {
        "labels": {**B, "apps.kubernetes.io/pod-index": "1"},
        "affinity": away({"topologyKey": HOSTNAME, "labelSelector": selector(**{"apps.kubernetes.io/pod-index": "1"})}),
    },
    {
        "labels": B,
        "topologySpreadConstraints": [spread(labelSelector={}, hard=False), spread("rack", app="b", hard=False)],
        "overhead": {"cpu": "250m"},
    },
    {
        "labels": C,
        "priority": 50,
        "containers": [_port(80), container("big", cpu="1500m", memory="1Gi")],
        "affinity": away(term(HOSTNAME, "c")),
    },
    {"labels": B, "requests": {"memory": HUGE, "cpu": "1m"}},
    {"labels": B, "requests": {"memory": str(2**53), "cpu": f"{HUGE}m", "example.com/gpu": 3}, "priority": 20},
)

OBJECTS: tuple[tuple[str, Json], ...] = (
    ("Service", {"name": "a", "namespace": "default", "spec": {"selector": A}}),
    ("Service", {"name": "web", "namespace": "default", "spec": {"selector": {"tier": "web"}}}),
    ("Service", {"name": "one", "namespace": "default", "spec": {"selector": {"apps.kubernetes.io/pod-index": "1"}}}),
    ("Namespace", {"name": "other", "labels": {"team": "x"}}),
    ("Namespace", {"name": "other", "labels": {"team": "y"}}),
    ("Namespace", {"name": "default", "labels": {"team": "x"}}),
    ("DeviceClass", {"name": "gpus", "spec": {"extendedResourceName": "example.com/gpu"}}),
    (
        "PodDisruptionBudget",
        {"name": "b", "namespace": "default", "spec": {"selector": selector(app="b")}, "status": {}},
    ),
    (
        "PersistentVolumeClaim",
        {
            "name": "once",
            "namespace": "default",
            "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
            "spec": {"volumeName": "pv-once", "accessModes": ["ReadWriteOncePod"]},
        },
    ),
    ("PersistentVolume", {"name": "pv-once", "labels": {ZONE: "a__b"}, "spec": {"capacity": {"storage": "1Gi"}}}),
    (
        "PersistentVolumeClaim",
        {
            "name": "shared",
            "namespace": "default",
            "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
            "spec": {"volumeName": "pv-shared"},
        },
    ),
    (
        "PersistentVolume",
        {
            "name": "pv-shared",
            "spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [expressions(ZONE, "In", "b", "c")]}}},
        },
    ),
    (
        "PersistentVolumeClaim",
        {
            "name": "migrated",
            "namespace": "default",
            "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
            "spec": {"volumeName": "pv-ebs"},
        },
    ),
    (
        "PersistentVolume",
        {
            "name": "pv-ebs",
            "spec": {
                "awsElasticBlockStore": {"volumeID": "vol-1"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [expressions(ZONE, "In", "a", "b"), fields("n3")]}},
            },
        },
    ),
    ("PersistentVolume", {"name": "pv-ebs", "spec": {"awsElasticBlockStore": {"volumeID": "://"}}}),
    (
        "CSINode",
        {
            "name": "n1",
            "annotations": {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"},
            "spec": {"drivers": [{"name": "ebs.csi.aws.com", "nodeID": "n1", "allocatable": {"count": 1}}]},
        },
    ),
    ("StorageClass", {"name": "late", "provisioner": "x", "volumeBindingMode": "WaitForFirstConsumer"}),
    (
        "PersistentVolumeClaim",
        {
            "name": "waiting",
            "namespace": "default",
            "spec": {"storageClassName": "late", "resources": {"requests": {"storage": "1Gi"}}},
        },
    ),
    (
        "PersistentVolumeClaim",
        {
            "name": "waiting",
            "namespace": "default",
            "annotations": {"volume.kubernetes.io/selected-node": "n2"},
            "spec": {"storageClassName": "late", "resources": {"requests": {"storage": "1Gi"}}},
        },
    ),
    (
        "StorageClass",
        {
            "name": "late",
            "provisioner": "x",
            "volumeBindingMode": "WaitForFirstConsumer",
            "allowedTopologies": [{"matchLabelExpressions": [{"key": ZONE, "values": ["a", "c"]}]}],
        },
    ),
    (
        "StorageClass",
        {
            "name": "late",
            "provisioner": "kubernetes.io/no-provisioner",
            "volumeBindingMode": "WaitForFirstConsumer",
        },
    ),
    (
        "PersistentVolume",
        {
            "name": "pv-late",
            "spec": {
                "storageClassName": "late",
                "capacity": {"storage": "2Gi"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [expressions("disk", "In", "ssd")]}},
            },
            "status": {"phase": "Available"},
        },
    ),
)

CONFIGS: tuple[Json | None, ...] = (
    None,
    {"NodeResourcesFit": {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 3}]}}},
    {
        "NodeResourcesFit": {
            "ignoredResources": ["example.com/gpu"],
            "scoringStrategy": {
                "type": "RequestedToCapacityRatio",
                "resources": [{"name": "memory", "weight": 2}, {"name": "example.com/gpu", "weight": 1}],
                "requestedToCapacityRatio": {
                    "shape": [
                        {"utilization": 0, "score": 9},
                        {"utilization": 37, "score": 2},
                        {"utilization": 90, "score": 10},
                    ]
                },
            },
        },
        "NodeResourcesBalancedAllocation": {
            "resources": [
                {"name": "cpu", "weight": 1},
                {"name": "memory", "weight": 1},
                {"name": "example.com/gpu", "weight": 1},
            ]
        },
        "InterPodAffinity": {"hardPodAffinityWeight": 30},
        "PodTopologySpread": {
            "defaultingType": "List",
            "defaultConstraints": [
                {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"},
                {"maxSkew": 2, "topologyKey": "rack", "whenUnsatisfiable": "ScheduleAnyway"},
            ],
        },
        "NodeAffinity": {
            "addedAffinity": node_affinity(
                expressions(ZONE, "Exists"), preferred=[{"weight": 50, "preference": expressions("disk", "In", "hdd")}]
            )["nodeAffinity"]
        },
    },
    {"InterPodAffinity": {"ignorePreferredTermsOfExistingPods": True, "hardPodAffinityWeight": 0}},
)
"""Plugin args by plugin name; None leaves all at their defaults."""


def make_node(name: str, shape: int) -> Json:
    return node(name, **NODES[shape % len(NODES)])


def make_pod(name: str, shape: int, on: str = "", **more: Any) -> Json:
    return pod(name, on, **{**PODS[shape % len(PODS)], **more})
