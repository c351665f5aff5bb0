"""Clusters of the browser tests, as manifests: zones, pools, placed pods, and pending pods with different reasons."""

import json
import random
from pathlib import Path
from typing import Any

Manifest = dict[str, Any]

ZONES = (("eu-west-1a", 0.38), ("eu-west-1b", 0.34), ("eu-west-1c", 0.28))
GPU_TAINT = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
SPOT_TAINT = {"key": "spot", "value": "true", "effect": "NoSchedule"}
POOLS = (
    ("general", 0.46, 16, 64, 0, ()),
    ("compute", 0.20, 64, 128, 0, ()),
    ("highmem", 0.12, 16, 256, 0, ()),
    ("spot", 0.14, 16, 64, 0, (SPOT_TAINT,)),
    ("gpu-l4", 0.05, 32, 128, 4, (GPU_TAINT,)),
    ("gpu-h100", 0.03, 96, 1024, 8, (GPU_TAINT,)),
)
WORKLOADS = (
    ("shop", "checkout", 500, 512),
    ("shop", "catalog", 250, 512),
    ("shop", "cache", 1000, 4096),
    ("search", "index", 4000, 8192),
    ("data", "kafka", 2500, 8192),
    ("ci", "build", 4000, 4096),
    ("media", "encode", 8000, 8192),
    ("platform", "metrics", 100, 256),
    ("data", "nightly-report", 2000, 4096),
)
HASH = "7c9f8d6b54"


def node(name: str, cpu: int, memory: int, labels: dict[str, str], **more: Any) -> Manifest:
    """A node; `gpus`, `taints`, `cordoned` and `ready` are optional."""
    amounts = {"cpu": str(cpu), "memory": f"{memory}Gi", "pods": "110"}
    if more.get("gpus"):
        amounts["nvidia.com/gpu"] = str(more["gpus"])
    ready, cordoned = more.get("ready", True), more.get("cordoned", False)
    taints = list(more.get("taints", ()))
    if cordoned:
        taints.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
    if not ready:
        taints.append({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"})
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
        "spec": {"unschedulable": cordoned, "taints": taints},
        "status": {
            "allocatable": amounts,
            "capacity": amounts,
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        },
    }


def pod(namespace: str, name: str, app: str, cpu: int, memory: int, **spec: Any) -> Manifest:
    """A pod of a Deployment; `gpus` of its container, the rest is for its spec."""
    gpus = spec.pop("gpus", 0)
    requests = {"cpu": f"{cpu}m", "memory": f"{memory}Mi", **({"nvidia.com/gpu": str(gpus)} if gpus else {})}
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{app}-{HASH}", "uid": app, "controller": True}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "namespace": namespace,
            "name": name,
            "labels": {"app": app, "pod-template-hash": HASH},
            "ownerReferences": [owner],
        },
        "spec": {"containers": [{"name": "main", "image": f"{app}:1", "resources": {"requests": requests}}], **spec},
    }


def nodes(scale: int, dice: random.Random) -> list[Manifest]:
    """About `scale` nodes in three zones and six pools."""
    made = []
    for zone, zone_share in ZONES:
        for pool, share, cpu, memory, gpus, taints in POOLS:
            for index in range(max(1, round(scale * zone_share * share))):
                disk = {"disktype": "ssd"} if pool == "general" and index % 4 == 0 else {}
                labels = {"topology.kubernetes.io/zone": zone, "pool": pool, **disk}
                state = {"cordoned": dice.random() < 0.012, "ready": dice.random() > 0.004}
                name = f"{zone}-{pool}-{index:04d}"
                made.append(node(name, cpu, memory, labels, gpus=gpus, taints=taints, **state))
    return made


def placed(cluster: list[Manifest], most: int, dice: random.Random) -> list[Manifest]:
    """Pods that are on nodes already, at most `most`."""
    made: list[Manifest] = []
    for item in cluster:
        amounts, pool = item["status"]["allocatable"], item["metadata"]["labels"]["pool"]
        cpu, memory = int(amounts["cpu"]) * 1000, int(amounts["memory"].removesuffix("Gi")) * 1024
        share = {"compute": 0.6 + 0.4 * dice.random(), "highmem": 0.25 * dice.random()}.get(pool, dice.random() ** 1.2)
        used = [0, 0]
        for _ in range(22):
            namespace, app, milli, mega = dice.choice(WORKLOADS)
            if used[0] + milli > share * cpu or used[1] + mega > 0.98 * memory or len(made) >= most:
                continue
            used = [used[0] + milli, used[1] + mega]
            name = f"{app}-{HASH}-{len(made):05x}"
            priority = dice.choice((0, 0, 0, 1000))
            made.append(pod(namespace, name, app, milli, mega, nodeName=item["metadata"]["name"], priority=priority))
    return made


def largest_room(machines: list[Manifest], pods: list[Manifest], pool: str) -> int:
    """The largest free amount of cpu on a node of a pool, in millicores."""
    free = {
        item["metadata"]["name"]: int(item["status"]["allocatable"]["cpu"]) * 1000
        for item in machines
        if item["metadata"]["labels"]["pool"] == pool and not item["spec"]["taints"]
    }
    for item in pods:
        name = item["spec"]["nodeName"]
        if name in free:
            requests = item["spec"]["containers"][0]["resources"]["requests"]
            free[name] -= int(requests["cpu"].removesuffix("m"))
    return max(free.values())


def pending(scale: int, wide: int) -> list[Manifest]:
    """Pending pods: never, not now (they need `wide` millicores), gated, and too large for every node."""
    made = [
        pod("search", f"nvme-{HASH}-{index:04x}", "nvme", 1000, 1024, nodeSelector={"disktype": "nvme"})
        for index in range(max(3, scale // 80))
    ]
    for index in range(9):
        selector = {"pool": "compute"}
        made.append(pod("media", f"encode-wide-{HASH}-{index:04x}", "encode-wide", wide, 1024, nodeSelector=selector))
    for index in range(max(2, scale // 120)):
        tolerations = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
        name = f"train-{HASH}-{index:04x}"
        made.append(pod("ml", name, "train", 4000, 8192, gpus=16, tolerations=tolerations))
    for index in range(max(1, scale // 250)):
        gates = [{"name": "example.com/quota"}]
        made.append(pod("data", f"report-{HASH}-{index:04x}", "report", 1000, 1024, schedulingGates=gates))
    return made


def cluster(scale: int, most_placed: int) -> list[Manifest]:
    """A whole cluster, the same at every call."""
    dice = random.Random(7)
    machines = nodes(scale, dice)
    pods = placed(machines, most_placed, dice)
    return [*machines, *pods, *pending(scale, largest_room(machines, pods, "compute") + 50)]


def write(path: Path, items: list[Manifest]) -> Path:
    """The manifests as one JSON file."""
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return path
