"""Writes a large input for `stowplan simulate`: nodes of some sizes, and workloads that ask for different things.

    python benchmarks/large_input.py --nodes 5000 --pods 20000 > large.json
    stowplan simulate -f large.json

JSON is YAML too; `--yaml` writes it in the style that people write.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]

HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
SIZES = (("8", "32Gi"), ("16", "64Gi"), ("32", "128Gi"))
REPLICAS = (10, 25, 50, 100, 200)


def node(number: int) -> Json:
    cpu, memory = SIZES[number % len(SIZES)]
    name = f"node-{number:05}"
    labels = {HOSTNAME: name, ZONE: f"zone-{number % 5}", "example.com/rack": f"rack-{number % 200}"}
    taints = [{"key": "example.com/spot", "effect": "NoSchedule"}] if number % 10 == 0 else []
    allocatable = {"cpu": cpu, "memory": memory, "pods": "110", "ephemeral-storage": "100Gi"}
    images = [
        {"names": [f"registry.example.com/app-{(number + i) % 40}:v1"], "sizeBytes": 200_000_000} for i in range(10)
    ]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints},
        "status": {"capacity": allocatable, "allocatable": allocatable, "images": images},
    }


def wishes(number: int, app: str) -> Json:
    """What the pods of a workload ask for beyond room: nothing, or one thing or another."""
    own = {"labelSelector": {"matchLabels": {"app": app}}}
    spread = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", **own}
    soft = {"maxSkew": 2, "topologyKey": HOSTNAME, "whenUnsatisfiable": "ScheduleAnyway", **own}
    apart = {"topologyKey": HOSTNAME, **own}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    return (
        {},
        {"topologySpreadConstraints": [spread]},
        {"topologySpreadConstraints": [spread, soft]},
        {"affinity": {"podAntiAffinity": {required: [apart]}}},
        {"affinity": {"podAffinity": {required: [{"topologyKey": ZONE, **own}]}}},
        {"nodeSelector": {ZONE: f"zone-{number % 5}"}},
        {"tolerations": [{"key": "example.com/spot", "operator": "Exists"}]},
        {},
    )[number % 8]


def workloads(pods: int, factor: int) -> Iterator[Json]:
    made = number = 0
    while made < pods:
        replicas = min(REPLICAS[number % len(REPLICAS)], pods - made)
        app = f"app-{number}"
        requests = {"cpu": f"{factor * (100 + number % 7 * 150)}m", "memory": f"{128 + number % 5 * 256}Mi"}
        container = {"name": "main", "image": f"registry.example.com/app-{number % 40}:v1"}
        spec = {"containers": [{**container, "resources": {"requests": requests}}], **wishes(number, app)}
        yield {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": app},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": app}},
                "template": {"metadata": {"labels": {"app": app}}, "spec": spec},
            },
        }
        if number % 3 == 0:
            yield {"apiVersion": "v1", "kind": "Service", "metadata": {"name": app}, "spec": {"selector": {"app": app}}}
        made += replicas
        number += 1


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=20_000)
    parser.add_argument("--factor", type=int, default=1, help="times as much CPU for each pod; 9 is more than there is")
    parser.add_argument("--yaml", action="store_true")
    options = parser.parse_args()
    items = [*(node(number) for number in range(options.nodes)), *workloads(options.pods, options.factor)]
    if options.yaml:
        import yaml

        yaml.dump_all(items, sys.stdout, Dumper=yaml.CSafeDumper)
    else:
        json.dump({"apiVersion": "v1", "kind": "List", "items": items}, sys.stdout)


if __name__ == "__main__":
    main()
