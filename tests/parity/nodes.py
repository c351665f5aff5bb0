"""Random nodes: what each feature of a workload adds to one."""

from __future__ import annotations

from collections.abc import Callable, Collection

from tests.builders import HOSTNAME, ZONE, Json
from tests.parity.draw import GPU, RACK, REGION, ZONES, Draw

TAINT_KEYS = ("dedicated", "spot", "maintenance")
EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
CORDONED = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
REGISTRY = "registry.example.com"
IMAGES = {"web:1": 350, "db:2": 1200, "tiny:1": 8, "big:9": 3200, "tool:latest": 90}
"""Their sizes in MiB. One name has one size all the time: schedulers keep the first that they saw."""

ROOM: dict[str, dict[str, tuple[str, ...]]] = {
    "wide": {"cpu": ("8", "16", "15900m"), "memory": ("16Gi", "32Gi", "31800Mi"), "pods": ("110", "110", "110", "6")},
    "tight": {"cpu": ("2", "4", "3900m"), "memory": ("4Gi", "8Gi", "7800Mi"), "pods": ("110", "110", "110", "4")},
    "full": {"cpu": ("1", "2", "1500m"), "memory": ("2Gi", "3Gi", "4Gi"), "pods": ("110", "110", "3")},
}


def make_node(draw: Draw, name: str, room: str, features: Collection[str]) -> Json:
    """A node of a workload with such features, and as roomy as its others."""
    allocatable = {resource: draw.choice(amounts) for resource, amounts in ROOM[room].items()}
    node: Json = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": _labels(draw, name)},
        "spec": {},
        "status": {"allocatable": allocatable, "conditions": [{"type": "Ready", "status": "True"}]},
    }
    for feature, add in _ADDITIONS.items():
        if feature in features:
            add(draw, node)
    node["status"]["capacity"] = dict(allocatable)
    return node


def _labels(draw: Draw, name: str) -> dict[str, str]:
    labels = {HOSTNAME: name, "kubernetes.io/os": "linux"}
    if draw.chance(0.93):
        labels[ZONE] = draw.choice(ZONES)
    if draw.chance(0.7):
        labels[REGION] = draw.choice(("north", "south"))
    if draw.chance(0.6):
        labels[RACK] = str(draw.randint(1, 6))
    if draw.chance(0.6):
        labels["disk"] = draw.choice(("ssd", "hdd"))
    return labels


def taint(draw: Draw) -> Json:
    made = {"key": draw.choice(TAINT_KEYS), "effect": draw.choice(EFFECTS)}
    return made | {"value": draw.choice("ab")} if draw.chance(0.7) else made


def _taints(draw: Draw, node: Json) -> None:
    if draw.chance(0.4):
        drawn = [taint(draw) for _ in draw.times(1, 3)]
        node["spec"]["taints"] = list({(made["key"], made["effect"]): made for made in drawn}.values())


def _cordons(draw: Draw, node: Json) -> None:
    if draw.chance(0.2):
        node["spec"]["unschedulable"] = True
        if draw.chance(0.5):
            node["spec"].setdefault("taints", []).append(CORDONED)


def _resources(draw: Draw, node: Json) -> None:
    room = node["status"]["allocatable"]
    if draw.chance(0.5):
        room["ephemeral-storage"] = draw.choice(("10Gi", "100Gi"))
    if draw.chance(0.5):
        room[GPU] = str(draw.randint(0, 4))
    if draw.chance(0.2):
        room["hugepages-2Mi"] = "512Mi"


def _images(draw: Draw, node: Json) -> None:
    there = draw.some(tuple(IMAGES), 0, len(IMAGES))
    node["status"]["images"] = [
        {"names": [f"{REGISTRY}/{name}", f"{REGISTRY}/{name}@sha256:{'0' * 64}"], "sizeBytes": IMAGES[name] << 20}
        for name in there
    ]


_ADDITIONS: dict[str, Callable[[Draw, Json], None]] = {
    "taints": _taints,
    "cordons": _cordons,
    "resources": _resources,
    "images": _images,
}
