"""First fit: the devices for claims whose requests take the first free devices that match.

The search is the definition. Where nothing depends on the choice of devices and there are enough, its first path ends
with these devices; the search takes several times as long to show it. Selectors are not evaluated here.
"""

from __future__ import annotations

from collections.abc import Sequence

from stowplan import framework as fwk
from stowplan.plugins.dynamic_resources.allocation.allocated import AllocatedState, DeviceID
from stowplan.plugins.dynamic_resources.allocation.allocation_state import Picked
from stowplan.plugins.dynamic_resources.allocation.devices import PublishedDevice
from stowplan.plugins.dynamic_resources.allocation.pools import NodePools
from stowplan.plugins.dynamic_resources.allocation.requests import RequestedDevices, WantedClaim


def first_fit(
    claims: Sequence[WantedClaim], pools: NodePools, node: fwk.NodeInfo, allocated: AllocatedState
) -> tuple[tuple[Picked, ...], ...] | None:
    """The devices of each claim; None if only the search shows whether there are any."""
    taken: set[DeviceID] = set()
    found: list[tuple[Picked, ...]] = []
    for claim in claims:
        picked: list[Picked] = []
        for (wanted,) in claim.requests:
            if not _pick(wanted, pools, node, allocated, taken, picked):
                return None
        found.append(tuple(picked))
    return tuple(found)


def _pick(
    wanted: RequestedDevices,
    pools: NodePools,
    node: fwk.NodeInfo,
    allocated: AllocatedState,
    taken: set[DeviceID],
    picked: list[Picked],
) -> bool:
    """Pick the devices of a request; False if there are not enough, or if a device has to be examined by the search."""
    missing = wanted.spec.count
    in_use = allocated.devices
    for device, _ in pools.candidates if missing else ():
        if device.id in in_use or device.id in taken:
            continue
        matches = _matches(wanted, device, node)
        if matches is None:
            return False
        if matches:
            taken.add(device.id)
            picked.append(Picked(wanted, device, None))
            missing -= 1
            if not missing:
                break
    return not missing


def _matches(wanted: RequestedDevices, device: PublishedDevice, node: fwk.NodeInfo) -> bool | None:
    """Whether the request can have the device; None if that is not known yet, or not that simple."""
    if not device.is_plain:
        return None
    if not device.selectable:
        return False
    for _, _, selector in wanted.selectors:
        verdict = device.known_verdict(selector)
        if verdict is not True:
            return False if verdict is False else None
    return device.reach is None or device.reach.covers(node)
