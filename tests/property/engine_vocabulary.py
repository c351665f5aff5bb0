"""What clusters are made of in which an engine walks at random: small nodes, so that room is scarce, and pods that meet
every sort of obstacle."""

from __future__ import annotations

from functools import cache
from typing import Any

from tests.builders import HOSTNAME, ZONE, Json, away, container, near, node, pod, selector, spread, term

from stowplan import api
from stowplan.api import codec
from stowplan.api.kinds import KINDS

TAINT = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}

NODE_NAMES = tuple(f"n{i}" for i in range(5))
NODES: tuple[dict[str, Any], ...] = (
    {"zone": "a", "cpu": 2},
    {"zone": "b", "cpu": 2},
    {"zone": "a", "cpu": 4, "pods": 3},
    {"zone": "b", "cpu": 1, "memory": "1Gi"},
    {"zone": "b", "cpu": 3, "labels": {"disk": "ssd"}},
    {"zone": "a", "cpu": 2, "taints": [TAINT]},
    {"zone": "a", "cpu": 2, "unschedulable": True},
    {"zone": "c", "cpu": 2, "extra": {"example.com/gpu": "1"}},
    {"cpu": 1},
)

A, B = {"app": "a"}, {"app": "b"}


def _claims(*names: str) -> list[Json]:
    return [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]


PODS: tuple[dict[str, Any], ...] = (
    {"labels": A, "requests": {"cpu": 1}},
    {"labels": B, "requests": {"cpu": "500m"}},
    {"labels": A},
    {"labels": B, "requests": {"cpu": 1}, "priority": -5},
    {"labels": A, "requests": {"cpu": 2}, "priority": 10},
    {"labels": B, "requests": {"cpu": 1}, "priority": 100},
    {"labels": A, "requests": {"cpu": 2}, "priority": 100, "preemptionPolicy": "Never"},
    {"labels": B, "containers": [container(cpu="100m", ports=[{"hostPort": 80, "containerPort": 80}])]},
    {"labels": A, "nodeSelector": {"disk": "ssd"}, "requests": {"cpu": 1}},
    {"labels": B, "tolerations": [{"key": "dedicated", "operator": "Exists"}], "requests": {"cpu": "1500m"}},
    {"labels": A, "topologySpreadConstraints": [spread(ZONE)], "requests": {"cpu": "200m"}},
    {"labels": B, "affinity": away(term(HOSTNAME, "b")), "requests": {"cpu": "200m"}},
    {"labels": A, "affinity": near(term(ZONE, "b")), "requests": {"cpu": "200m"}},
    {"labels": A, "schedulingGates": [{"name": "quota"}], "requests": {"cpu": 1}},
    {"labels": {**A, "permit": "hold"}, "requests": {"cpu": 1}, "priority": -5},
    {"labels": {**B, "permit": "hold"}, "requests": {"cpu": "500m"}},
    {"labels": {**B, "permit": "deny"}, "requests": {"cpu": "500m"}},
    {"labels": {**A, "reserve": "deny"}, "requests": {"cpu": 1}},
    {"labels": {**A, "pre-bind": "fail"}, "requests": {"cpu": 1}},
    {"labels": {**B, "bind": "fail"}, "requests": {"cpu": 1}},
    {"labels": A, "volumes": _claims("local"), "requests": {"cpu": 1}, "priority": -5},
    {"labels": B, "volumes": _claims("made")},
    {"labels": A, "volumes": _claims("made", "local"), "requests": {"cpu": "500m"}},
    {"labels": B, "volumes": _claims("alone"), "requests": {"cpu": "500m"}},
    {"labels": B, "volumes": _claims("alone"), "priority": 10},
    {"labels": A, "requests": {"example.com/gpu": 1, "cpu": "100m"}},
    # More of what makes pods fight for room.
    {"labels": A, "requests": {"cpu": "500m"}, "priority": -5},
    {"labels": B, "requests": {"cpu": "700m"}, "priority": -5},
    {"labels": {**A, "permit": "hold"}, "requests": {"cpu": 1}, "priority": -5},
    {"labels": A, "volumes": _claims("local"), "requests": {"cpu": 1}, "priority": -5},
    {"labels": B, "volumes": _claims("made"), "requests": {"cpu": 1}, "priority": -5},
    {"labels": A, "requests": {"cpu": 2}, "priority": 100},
    {"labels": B, "requests": {"cpu": "1500m"}, "priority": 100},
    {"labels": A, "requests": {"cpu": "1500m"}, "priority": 10},
    {"labels": A, "namespace": "other", "requests": {"cpu": "300m"}},
    {"labels": B, "namespace": "other", "requests": {"cpu": "700m"}, "priority": 10},
    {"labels": B, "namespace": "other", "requests": {"cpu": "700m"}, "priority": -5},
)
SMALL = (3, 26, 27)
"""Shapes of unimportant pods, of which several go on a node."""

NO_PROVISIONER = "kubernetes.io/no-provisioner"
WAITS = "WaitForFirstConsumer"


def _claim(storage_class: str, mode: str = "ReadWriteOnce") -> Json:
    resources = {"requests": {"storage": "1Gi"}}
    return {"spec": {"storageClassName": storage_class, "accessModes": [mode], "resources": resources}}


def _local_volume(on: str) -> Json:
    required = {"nodeSelectorTerms": [{"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [on]}]}]}
    spec = {"storageClassName": "local", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
    return {"spec": {**spec, "nodeAffinity": {"required": required}}, "status": {"phase": "Available"}}


OBJECTS: tuple[tuple[str, str, str, Json], ...] = (
    ("StorageClass", "", "local", {"provisioner": NO_PROVISIONER, "volumeBindingMode": WAITS}),
    ("StorageClass", "", "csi", {"provisioner": "csi.example.com", "volumeBindingMode": WAITS}),
    ("StorageClass", "", "at-once", {"provisioner": "csi.example.com", "volumeBindingMode": "Immediate"}),
    ("PersistentVolumeClaim", "default", "local", _claim("local")),
    ("PersistentVolumeClaim", "default", "made", _claim("csi")),
    ("PersistentVolumeClaim", "default", "alone", _claim("at-once", "ReadWriteOncePod")),
    ("PersistentVolume", "", "v0", _local_volume("n0")),
    ("PersistentVolume", "", "v1", _local_volume("n1")),
    (
        "PodDisruptionBudget",
        "default",
        "b",
        {"spec": {"selector": selector(app="b")}, "status": {"disruptionsAllowed": 0}},
    ),
    (
        "PodDisruptionBudget",
        "default",
        "a",
        {"spec": {"selector": selector(app="a")}, "status": {"disruptionsAllowed": 1}},
    ),
)


@cache
def node_of(name: str, shape: int) -> api.Node:
    return codec.convert(api.Node, node(name, **NODES[shape % len(NODES)]))


@cache
def pod_of(name: str, shape: int, on: str = "") -> api.Pod:
    made = pod(name, on, **PODS[shape % len(PODS)])
    del made["metadata"]["uid"]
    return codec.convert(api.Pod, made)


@cache
def object_of(which: int) -> Any:
    kind, namespace, name, body = OBJECTS[which % len(OBJECTS)]
    metadata = {"name": name, "namespace": namespace}
    return codec.convert(KINDS[kind].struct, {"metadata": metadata, **body})  # type: ignore[type-var]
