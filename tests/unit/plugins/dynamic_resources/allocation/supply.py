"""Slices, classes and claims in few words, and an allocator over them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, cast

from tests.builders import Json, node, typed

from stowplan import api
from stowplan.api import codec
from stowplan.cache import Store
from stowplan.framework import NodeInfo
from stowplan.framework.node_info import ResourceReader
from stowplan.plugins.dynamic_resources.allocation import AllocatedState, AllocationFailure, Allocator

DRIVER = "d"


def device(name: str, capacity: Json | None = None, **more: Any) -> Json:
    """Numbers and texts among the keywords are attributes, all else fields of a device."""
    kinds = {bool: "bool", int: "int", str: "string"}
    attributes = {key: {kinds[type(value)]: value} for key, value in more.items() if type(value) in kinds}
    fields = {key: value for key, value in more.items() if type(value) not in kinds}
    amounts = {key: value if isinstance(value, dict) else {"value": value} for key, value in (capacity or {}).items()}
    return {"name": name, "attributes": attributes, "capacity": amounts, **fields}


def slice_(name: str, *devices: Json, pool: str = "p", count: int = 1, generation: int = 1, **where: Any) -> Json:
    spec = {"driver": DRIVER, "pool": {"name": pool, "generation": generation, "resourceSliceCount": count}}
    return {"metadata": {"name": name}, "spec": {**spec, "devices": list(devices), **(where or {"nodeName": "n"})}}


def exactly(count: int | str = 1, *selectors: str, of: str = "any", **more: Any) -> Json:
    """So many devices; a count of "All" means all."""
    amount = {"allocationMode": "All"} if count == "All" else {"allocationMode": "ExactCount", "count": count}
    chosen = [{"cel": {"expression": text}} for text in selectors]
    return {"deviceClassName": of, **amount, "selectors": chosen, **more}


def claim(*requests: Json | list[Json], name: str = "c", constraints: Iterable[Json] = (), **more: Any) -> Json:
    """Requests are called r0, r1...; a list makes one with alternatives a0, a1..."""
    made = [
        {"name": f"r{i}", "firstAvailable": [{"name": f"a{j}", **sub} for j, sub in enumerate(item)]}
        if isinstance(item, list)
        else {"name": f"r{i}", "exactly": item}
        for i, item in enumerate(requests)
    ]
    devices = {"requests": made, "constraints": list(constraints), **more}
    return {"metadata": {"name": name, "namespace": "ns", "uid": name}, "spec": {"devices": devices}}


def node_info(name: str = "n", **labels: str) -> NodeInfo:
    return NodeInfo(0, typed(node(name, labels=labels)), cast(ResourceReader, None))


class Supply:
    """Stores and an allocator that reads them."""

    def __init__(self, *slices: Json, clock: Callable[[], float] = time.monotonic, **classes: Json) -> None:
        self.classes: Store[api.DeviceClass] = Store()
        self.slices: Store[api.ResourceSlice] = Store()
        for name, spec in {"any": {}, **classes}.items():
            self.classes.put(codec.convert(api.DeviceClass, {"metadata": {"name": name}, "spec": spec}))
        self.publish(*slices)
        self.allocated = AllocatedState()
        self.allocator = Allocator(self.allocated, self.classes, self.slices, timeout=10, clock=clock)

    def publish(self, *slices: Json) -> None:
        for item in slices:
            self.slices.put(codec.convert(api.ResourceSlice, item))

    def allocate(
        self, *claims: Json, on: NodeInfo | None = None
    ) -> tuple[api.AllocationResult, ...] | AllocationFailure | None:
        return self.allocator.allocate(on or node_info(), [codec.convert(api.ResourceClaim, item) for item in claims])

    def devices(self, *claims: Json, on: NodeInfo | None = None) -> list[str] | str | None:
        """The names of the devices, "request:device"; or the failure."""
        found = self.allocate(*claims, on=on)
        if found is None or isinstance(found, AllocationFailure):
            return found.text if found is not None else None
        return [f"{item.request}:{item.device}" for result in found for item in result.devices.results]

    def hold(self, *devices: str, pool: str = "p", **more: Any) -> None:
        """Somebody has these devices."""
        results = [{"driver": DRIVER, "pool": pool, "device": name, **more} for name in devices]
        held = codec.convert(api.AllocationResult, {"devices": {"results": results}})
        self.allocated.hold("/".join((pool, *devices)), held)
