"""The cluster in which hostile pods are measured."""

from __future__ import annotations

from tests.e2e.devices import CLAIM, CLAIMS_ARE_SERVED, device_class, device_slice
from tests.e2e.hostile_pods import NUMBER_LABEL, STORM_PRIORITY_CLASS

from stowplan.testing import KubeApi, node
from stowplan.testing.cleanup import clear
from stowplan.testing.objects import JsonObject

DEVICE_NODES, DEVICES = 10, 32


def create_cluster(api: KubeApi, nodes: int) -> None:
    """Numbered nodes in two zones, some with devices where claims are served, and a priority class for preemptors."""
    labels = ({"zone": "ab"[n % 2], NUMBER_LABEL: str(n)} for n in range(nodes))
    api.create_all(node(f"n-{n}", cpu="64", pods=500, labels=each) for n, each in enumerate(labels))
    if CLAIMS_ARE_SERVED:
        api.create(device_class())
        api.create_all(device_slice(f"n-{n}", DEVICES) for n in range(DEVICE_NODES))
    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    api.create({**kind, "metadata": {"name": STORM_PRIORITY_CLASS}, "value": 10_000})


def churned_node(number: int) -> JsonObject:
    """A node without room for pods, with labels, taints and resources of its own."""
    labels = {f"k-{number}-{each}": f"v-{number}" for each in range(50)}
    found = node(f"churned-{number}", pods=0, labels=labels)
    found["spec"] = {"taints": [{"key": f"t-{number}-{each}", "effect": "NoSchedule"} for each in range(5)]}
    room = found["status"]["allocatable"] | {f"example.com/r-{number}-{each}": "4" for each in range(20)}
    found["status"] |= {"allocatable": room, "capacity": room}
    return found


def clear_tenant(api: KubeApi, namespace: str) -> None:
    clear(api, "Pod", namespace)
    clear(api, CLAIM, namespace)
