"""What an API server fills in where a claim leaves something open."""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from stowplan import api

_EXACT_COUNT = "ExactCount"

R = TypeVar("R", api.ExactDeviceRequest, api.DeviceSubRequest)


def with_claim_defaults(claim: api.ResourceClaim) -> api.ResourceClaim:
    return replace(claim, spec=_with_defaults(claim.spec))


def with_template_defaults(template: api.ResourceClaimTemplate) -> api.ResourceClaimTemplate:
    return replace(template, spec=replace(template.spec, spec=_with_defaults(template.spec.spec)))


def _with_defaults(spec: api.ResourceClaimSpec) -> api.ResourceClaimSpec:
    requests = tuple(
        replace(
            request,
            exactly=None if request.exactly is None else _counted(request.exactly),
            first_available=tuple(map(_counted, request.first_available)),
        )
        for request in spec.devices.requests
    )
    return replace(spec, devices=replace(spec.devices, requests=requests))


def _counted(request: R) -> R:
    """One device, unless something else is said."""
    mode = request.allocation_mode or _EXACT_COUNT
    return replace(request, allocation_mode=mode, count=request.count or (1 if mode == _EXACT_COUNT else 0))
