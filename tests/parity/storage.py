"""Random claims and volumes.

Nobody binds claims here, as a volume controller would. So a claim is bound from the beginning, or it never can be: a
pod whose claim could be bound to a volume would wait for that forever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tests.builders import ZONE, Json, expressions
from tests.parity.draw import NAMESPACES, ZONES, Draw

DRIVER = "csi.example.com"
SCARCE_DRIVER = "scarce.example.com"
BOUND = {"pv.kubernetes.io/bind-completed": "yes"}

_API = "storage.k8s.io/v1"


class Storage(NamedTuple):
    """What is there before the first pod: objects, and those of the claims that are being deleted."""

    objects: list[Json]
    leaving: list[Json]


def make_storage(draw: Draw, nodes: list[Json]) -> Storage:
    objects = [*_classes(), *_drivers(), *(_csi_node(draw, node) for node in nodes if draw.chance(0.8))]
    objects += [_volume(f"free-{i}", "local", "5Gi") for i in draw.times(0, 3)]
    leaving = []
    for namespace in NAMESPACES:
        for name, make in _CLAIMS.items():
            made = make(draw, name, namespace)
            objects += made
            if name == "leaving":
                leaving.append(made[0])
    return Storage(objects, leaving)


def add_volumes(draw: Draw, pod: Json) -> None:
    """Volumes of a pod, most of them claims that its namespace has."""
    names = draw.some((*_LIKELY, *_CLAIMS, "missing"), 1, 2) if draw.chance(0.85) else []
    volumes: list[Json] = [
        {"name": name, "persistentVolumeClaim": {"claimName": name}} for name in dict.fromkeys(names)
    ]
    if draw.chance(0.15):
        disk = {"pdName": draw.choice(("d1", "d2")), "readOnly": draw.chance(0.4)}
        volumes.append({"name": "disk", "gcePersistentDisk": disk})
    if draw.chance(0.05):
        template = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        volumes.append({"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": template}}})
    pod["spec"]["volumes"] = volumes


def _object(kind: str, name: str, api_version: str = _API, **fields: Any) -> Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}


def _class(name: str, provisioner: str, *, wait: bool, **fields: Any) -> Json:
    mode = "WaitForFirstConsumer" if wait else "Immediate"
    return _object("StorageClass", name, provisioner=provisioner, volumeBindingMode=mode, **fields)


def _classes() -> list[Json]:
    elsewhere = [{"matchLabelExpressions": [{"key": ZONE, "values": ["zone-of-others"]}]}]
    return [
        _class("now", DRIVER, wait=False),
        _class("local", "kubernetes.io/no-provisioner", wait=True),
        _class("elsewhere", DRIVER, wait=True, allowedTopologies=elsewhere),
        _class("scarce", SCARCE_DRIVER, wait=True),
    ]


def _drivers() -> list[Json]:
    left = _object("CSIStorageCapacity", "left", storageClassName="scarce", nodeTopology={}, capacity="1Gi")
    left["metadata"]["namespace"] = "default"
    return [
        _object("CSIDriver", DRIVER, spec={"attachRequired": True}),
        _object("CSIDriver", SCARCE_DRIVER, spec={"storageCapacity": True}),
        left,
    ]


def _csi_node(draw: Draw, node: Json) -> Json:
    name = node["metadata"]["name"]
    driver = {"name": DRIVER, "nodeID": name, "topologyKeys": [], "allocatable": {"count": draw.randint(1, 4)}}
    return _object("CSINode", name, spec={"drivers": [driver]})


def _claim(
    name: str, namespace: str, class_name: str | None, size: str = "1Gi", *, volume: str = "", **spec: Any
) -> Json:
    made = _object(
        "PersistentVolumeClaim",
        name,
        "v1",
        spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec},
    )
    made["metadata"]["namespace"] = namespace
    if class_name is not None:
        made["spec"]["storageClassName"] = class_name
    if volume:
        made["spec"]["volumeName"] = volume
        made["metadata"]["annotations"] = dict(BOUND)
        made["status"] = {"phase": "Bound"}
    return made


def _volume(name: str, class_name: str, size: str = "1Gi", *, claim: Json | None = None, **spec: Any) -> Json:
    source = {"csi": {"driver": DRIVER, "volumeHandle": f"handle-of-{name}"}}
    made = _object(
        "PersistentVolume",
        name,
        "v1",
        spec={
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": class_name,
            "persistentVolumeReclaimPolicy": "Retain",
            **source,
            **spec,
        },
        status={"phase": "Available"},
    )
    if claim is not None:
        meta = claim["metadata"]
        made["spec"]["accessModes"] = claim["spec"]["accessModes"]
        made["spec"]["claimRef"] = {
            "kind": "PersistentVolumeClaim",
            "apiVersion": "v1",
            "namespace": meta["namespace"],
            "name": meta["name"],
        }
        made["status"]["phase"] = "Bound"
    return made


def _bound(name: str, namespace: str, zone: str = "", label: str = "", mode: str = "ReadWriteOnce") -> list[Json]:
    volume_name = f"{namespace}-{name}"
    claim = _claim(name, namespace, "now", volume=volume_name, accessModes=[mode])
    volume = _volume(volume_name, "now", claim=claim)
    if zone:
        volume["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": [expressions(ZONE, "In", zone)]}}
    if label:
        volume["metadata"]["labels"] = {ZONE: label}
    return [claim, volume]


def _lost(draw: Draw, name: str, namespace: str) -> list[Json]:
    return [_claim(name, namespace, "now", volume="never-was") | {"status": {"phase": "Lost"}}]


_LIKELY = ("plain-1", "plain-2", "plain-3", "zonal-1", "zonal-2", "labelled", "single")

_CLAIMS: dict[str, Callable[[Draw, str, str], list[Json]]] = {
    "plain-1": lambda draw, name, place: _bound(name, place),
    "plain-2": lambda draw, name, place: _bound(name, place),
    "plain-3": lambda draw, name, place: _bound(name, place),
    "zonal-1": lambda draw, name, place: _bound(name, place, zone=draw.choice(ZONES)),
    "zonal-2": lambda draw, name, place: _bound(name, place, zone=draw.choice(ZONES)),
    "labelled": lambda draw, name, place: _bound(name, place, label=draw.choice((*ZONES, "zone-a__zone-b"))),
    "single": lambda draw, name, place: _bound(name, place, mode="ReadWriteOncePod"),
    "lost": _lost,
    "volume-gone": lambda draw, name, place: [_claim(name, place, "now", volume="never-was")],
    "unbound": lambda draw, name, place: [_claim(name, place, "now")],
    "classless": lambda draw, name, place: [_claim(name, place, None)],
    "no-such-class": lambda draw, name, place: [_claim(name, place, "nonexistent")],
    "too-large": lambda draw, name, place: [_claim(name, place, "local", "50Gi")],
    "elsewhere": lambda draw, name, place: [_claim(name, place, "elsewhere")],
    "scarce": lambda draw, name, place: [_claim(name, place, "scarce", "20Gi")],
    "leaving": lambda draw, name, place: _bound(name, place),
}
"""What makes each claim of a namespace and, where it is bound, its volume."""
