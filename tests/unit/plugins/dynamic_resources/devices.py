"""Devices, claims and pods that use them, on a host for the engine."""

from __future__ import annotations

from typing import Any

from tests.builders import Json, make, pod
from tests.builders.engine_host import Host

from stowplan import api
from stowplan.framework import Write
from stowplan.plugins.dynamic_resources.assume_cache import ClaimTracker, tracker_of

DRIVER = "gpu.example.com"
FINALIZER = "resource.kubernetes.io/delete-protection"
PREFIX = 'running PreBind plugin "DynamicResources": '

CLASS = make("DeviceClass", "gpu", spec={"extendedResourceName": "example.com/gpu"})


def devices(node: str, count: int = 2, **each: Any) -> Any:
    """The devices of a node, `gpu-0` and so on."""
    spec = {
        "driver": DRIVER,
        "nodeName": node,
        "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": f"gpu-{i}", **each} for i in range(count)],
    }
    return make("ResourceSlice", f"{node}-gpus", spec=spec)


def claim(name: str, count: int = 1, **fields: Any) -> Any:
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count}
    spec = {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}
    return make("ResourceClaim", name, "default", spec=spec, **fields)


def using(name: str, *claims: str, **more: Any) -> Json:
    """A pod that uses claims."""
    return pod(name, resourceClaims=[{"name": each, "resourceClaimName": each} for each in claims], **more)


def allocated(*names: str, node: str = "a", **more: Any) -> Json:
    """The status of a claim that has devices of a node."""
    results = [{"request": "gpu", "driver": DRIVER, "pool": node, "device": name, **more} for name in names]
    only_there = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    return {"allocation": {"devices": {"results": results}, "nodeSelector": {"nodeSelectorTerms": [only_there]}}}


class Devices(Host):
    """A host with devices."""

    @property
    def tracker(self) -> ClaimTracker:
        return tracker_of(self.engine.cluster)

    def claim(self, name: str) -> api.ResourceClaim:
        found = self.world.get(api.ResourceClaim, name, "default")
        assert found is not None
        return found

    def given(self, name: str) -> list[str]:
        """The devices that a claim has, as the API server knows."""
        allocation = self.claim(name).status.allocation
        return [] if allocation is None else [f"{each.pool}/{each.device}" for each in allocation.devices.results]

    def users(self, name: str) -> list[str]:
        return [each.name for each in self.claim(name).status.reserved_for]

    def taken(self) -> set[str]:
        """The devices that the plugin regards as allocated."""
        return {f"{pool}/{device}" for _, pool, device in self.tracker.allocated.devices}

    def writes(self) -> list[str]:
        self.take()
        told = [each for each in (*self.done, *self.open) if isinstance(each, Write)]
        names = (f"{each.verb} {each.kind}/{each.subresource}".rstrip("/") for each in told)
        return list(names)

    def next_write(self, verb: str, subresource: str = "") -> Write:
        """The write that is waited for, which must be this one."""
        found: Write = self.next_open(Write)
        assert (found.verb, found.subresource) == (verb, subresource)
        return found

    def failure(self, name: str) -> str:
        """The message of a failed binding of a pod."""
        status, reason, message = self.condition(name)
        assert (status, reason) == ("False", "SchedulerError")
        assert message.startswith(PREFIX)
        return message.removeprefix(PREFIX)
