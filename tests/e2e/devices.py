"""Devices, and claims on them, as an API server takes them; and what became of the claims."""

from __future__ import annotations

from typing import Any

from stowplan.config.feature_gates import DYNAMIC_RESOURCES
from stowplan.config.releases import release_of
from stowplan.testing import KubeApi, pod
from stowplan.testing.binaries import kubernetes_version
from stowplan.testing.objects import JsonObject

GROUP = "resource.k8s.io/v1"
CLAIM = f"{GROUP}/ResourceClaim"
SLICE = f"{GROUP}/ResourceSlice"
DRIVER = "gpu.example.com"
CLAIMS_ARE_SERVED = release_of(kubernetes_version()).has(DYNAMIC_RESOURCES)
"""Whether the API server serves claims by default."""
NO_CLAIMS = {GROUP: False} if CLAIMS_ARE_SERVED else {}
"""The runtime configuration of an API server without claims: v1.33 rejects one that names the group's v1."""


def resource(kind: str, name: str, spec: JsonObject, namespace: str = "") -> JsonObject:
    place = {"namespace": namespace} if namespace else {}
    return {"apiVersion": GROUP, "kind": kind, "metadata": {"name": name, **place}, "spec": spec}


def device_class(name: str = DRIVER, **spec: Any) -> JsonObject:
    selectors = [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]
    return resource("DeviceClass", name, {"selectors": selectors, **spec})


def device_slice(node: str, count: int, *, generation: int = 1, first: int = 0) -> JsonObject:
    """The devices of a node, `gpu-0` and so on."""
    spec = {
        "driver": DRIVER,
        "nodeName": node,
        "pool": {"name": node, "generation": generation, "resourceSliceCount": 1},
        "devices": [{"name": f"gpu-{number}"} for number in range(first, first + count)],
    }
    return resource("ResourceSlice", f"{node}-{DRIVER}", spec)


def claim(name: str, namespace: str, expression: str = "true", **exactly: Any) -> JsonObject:
    """A claim on one device, or with the request `exactly`."""
    selectors = [{"cel": {"expression": expression}}]
    request = {"name": "gpu", "exactly": {"deviceClassName": DRIVER, "selectors": selectors, **exactly}}
    return resource("ResourceClaim", name, {"devices": {"requests": [request]}}, namespace)


def user(name: str, namespace: str, *claims: str, **of: Any) -> JsonObject:
    """A pod that uses claims, by default the one of its own name."""
    entries = [{"name": each, "resourceClaimName": each} for each in claims or (name,)]
    return pod(name, namespace, **{"cpu": "10m", "resourceClaims": entries, **of})


def results(found: JsonObject) -> list[str]:
    """The devices that a claim has."""
    allocation = found.get("status", {}).get("allocation", {})
    return [f"{each['pool']}/{each['device']}" for each in allocation.get("devices", {}).get("results", ())]


def users(found: JsonObject) -> list[str]:
    return [each["name"] for each in found.get("status", {}).get("reservedFor", ())]


def allocations(api: KubeApi, namespace: str) -> dict[str, list[str]]:
    """The devices of each claim that has some."""
    return {each["metadata"]["name"]: results(each) for each in api.list(CLAIM, namespace) if results(each)}
