"""Devices allocated to pods."""

from __future__ import annotations

from stowplan import api
from stowplan.simulator.api_server import ApiServer


def devices_of(api_server: ApiServer) -> dict[str, tuple[str, ...]]:
    """By the pod's uid, "pool/device" of all claims reserved for it, in the order of the claims."""
    found: dict[str, tuple[str, ...]] = {}
    for claim in api_server.all(api.ResourceClaim):
        allocation = claim.status.allocation
        if allocation is None:
            continue
        given = tuple(f"{result.pool}/{result.device}" for result in allocation.devices.results)
        for consumer in claim.status.reserved_for:
            found[consumer.uid] = found.get(consumer.uid, ()) + given
    return found
