"""Versions of the group resource.k8s.io: v1beta2 has the shape of v1, and v1beta1 another one.

Upstream: k8s.io/api/resource/v1beta1/types.go, pkg/apis/resource/v1beta1/conversion.go
"""

from __future__ import annotations

from typing import Any

from stowplan.api.kinds import Kind

RESOURCE_GROUP = "resource.k8s.io"
RESOURCE_VERSIONS = ("v1", "v1beta2", "v1beta1")
"""The versions that can be read, the preferred one first."""

_REQUEST_FIELDS = (
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
)
"""Fields that are under `exactly` since v1beta2."""


def kind_at(kind: Kind, version: str) -> Kind:
    """A kind as a version of resource.k8s.io has it. Kinds of other groups are returned as they are."""
    if kind.api_version != f"{RESOURCE_GROUP}/{RESOURCE_VERSIONS[0]}" or version == RESOURCE_VERSIONS[0]:
        return kind
    upgrade = _UPGRADES.get(kind.name) if version == "v1beta1" else None
    return kind._replace(api_version=f"{RESOURCE_GROUP}/{version}", upgrade=upgrade)


def _upgrade_claim(claim: dict[str, Any]) -> dict[str, Any]:
    return {**claim, "spec": _upgrade_claim_spec(claim.get("spec") or {})}


def _upgrade_template(template: dict[str, Any]) -> dict[str, Any]:
    spec = template.get("spec") or {}
    return {**template, "spec": {**spec, "spec": _upgrade_claim_spec(spec.get("spec") or {})}}


def _upgrade_claim_spec(spec: dict[str, Any]) -> dict[str, Any]:
    devices = spec.get("devices") or {}
    requests = [_upgrade_request(request) for request in devices.get("requests") or ()]
    return {**spec, "devices": {**devices, "requests": requests}}


def _upgrade_request(request: dict[str, Any]) -> dict[str, Any]:
    if request.get("firstAvailable"):
        return request
    exactly = {name: request[name] for name in _REQUEST_FIELDS if request.get(name) is not None}
    return {"name": request.get("name", ""), "exactly": exactly}


def _upgrade_slice(slice_: dict[str, Any]) -> dict[str, Any]:
    spec = slice_.get("spec") or {}
    devices = [{**(device.get("basic") or {}), "name": device.get("name", "")} for device in spec.get("devices") or ()]
    return {**slice_, "spec": {**spec, "devices": devices}}


_UPGRADES = {
    "ResourceClaim": _upgrade_claim,
    "ResourceClaimTemplate": _upgrade_template,
    "ResourceSlice": _upgrade_slice,
}
"""From v1beta1 to v1, for the kinds whose shape differs; plain data in and out."""
