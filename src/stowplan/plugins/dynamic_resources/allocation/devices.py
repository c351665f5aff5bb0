"""Published devices, with results that are kept while their slice does not change."""

from __future__ import annotations

from typing import TypeAlias

from stowplan import api
from stowplan import framework as fwk
from stowplan.api.quantity import Exact, parse
from stowplan.cel import DeviceSelectorProgram, DeviceValue
from stowplan.plugins.dynamic_resources.allocation.allocated import DeviceID, PoolID
from stowplan.plugins.dynamic_resources.allocation.features import ALL_FEATURES, AllocatorFeatures

Attribute: TypeAlias = tuple[str, object]
"""(type, value); values of unknown types are equal to no value."""

UNKNOWN: Attribute = ("", None)

_BLOCKING = frozenset(("NoSchedule", "NoExecute"))
_MAX_KEPT_VERDICTS = 256


class Reach:
    """The nodes that reach a slice or a device; `error` if its node selector is invalid."""

    __slots__ = ("_everywhere", "_name", "_selector", "error")

    def __init__(self, of: api.ResourceSliceSpec | api.Device) -> None:
        self._name = of.node_name or ""
        self._everywhere = bool(of.all_nodes)
        self._selector = None if of.node_selector is None else api.compile_node_selector(of.node_selector)
        self.error = None if self._selector is None or self._name or self._everywhere else self._selector.error

    @property
    def stated(self) -> bool:
        return bool(self._name) or self._everywhere or self._selector is not None

    def covers(self, node: fwk.NodeInfo) -> bool:
        if self._name:
            return node.name == self._name
        return self._everywhere or (self._selector is not None and self._selector.matches(node.labels, node.name))


class PublishedDevice:
    """A device of a slice. Compared by identity."""

    __slots__ = (
        "_cel",
        "_verdicts",
        "blocking",
        "consumes",
        "id",
        "is_plain",
        "pool_id",
        "reach",
        "selectable",
        "shared",
        "slice",
        "spec",
        "usable",
    )

    def __init__(self, spec: api.Device, slice_: api.ResourceSlice, features: AllocatorFeatures = ALL_FEATURES) -> None:
        self.spec = spec = features.visible(spec)
        self.selectable = features.binding_conditions or not spec.binding_conditions
        """False for a device that no request selects, since it needs a disabled feature."""
        self.usable = features.counters or not spec.consumes_counters
        """False for a device that is selected and cannot be allocated, since it needs a disabled feature."""
        self.slice = slice_
        self.pool_id: PoolID = (slice_.spec.driver, slice_.spec.pool.name)
        self.id: DeviceID = (*self.pool_id, spec.name)
        self.shared = features.capacity and bool(spec.allow_multiple_allocations)
        self.blocking = tuple(taint for taint in spec.taints if taint.effect in _BLOCKING)
        self.consumes: dict[str, dict[str, Exact]] = {}
        """The counters of the pool that it consumes, by counter set."""
        for drawn in spec.consumes_counters if self.usable else ():
            amounts = self.consumes.setdefault(drawn.counter_set, {})
            for name, counter in drawn.counters.items():
                amounts[name] = amounts.get(name, 0) + parse(counter.value)
        self.reach = Reach(spec) if slice_.spec.per_device_node_selection else None
        limited = any(capacity.request_policy is not None for capacity in spec.capacity.values())
        self.is_plain = self.usable and not (self.shared or self.consumes or self.blocking or limited)
        """Whether a request that selects it and names no capacity can have it unless it is in use."""
        self._cel: DeviceValue | None = None
        self._verdicts: dict[DeviceSelectorProgram, bool | str] = {}

    def verdict(self, selector: DeviceSelectorProgram) -> bool | str:
        """The result of a selector for the device. Evaluated once: neither changes."""
        known = self._verdicts.get(selector)
        if known is None:
            if self._cel is None:
                self._cel = DeviceValue(self.pool_id[0], self.spec)
            if len(self._verdicts) >= _MAX_KEPT_VERDICTS:
                # Selectors of claims that are gone would stay for as long as the device.
                self._verdicts.clear()
            known = self._verdicts[selector] = selector.matches(self._cel)
        return known

    def known_verdict(self, selector: DeviceSelectorProgram) -> bool | str | None:
        """The result of a selector if it was evaluated already; else None."""
        return self._verdicts.get(selector)

    def attribute(self, name: str) -> Attribute | None:
        """An attribute by its qualified name; the driver's domain may be left out in the slice."""
        found = self.spec.attributes.get(name)
        if found is None:
            domain, slash, bare = name.partition("/")
            if not slash or domain != self.pool_id[0]:
                return None
            found = self.spec.attributes.get(bare)
            if found is None:
                return None
        if found.string_value is not None:
            return "string", found.string_value
        if found.int_value is not None:
            return "int", found.int_value
        if found.bool_value is not None:
            return "bool", found.bool_value
        return UNKNOWN if found.version_value is None else ("version", found.version_value)


class Slice:
    """A slice and its devices."""

    __slots__ = ("_for_every_node", "_skipped", "devices", "name", "object", "pool_id", "reach")

    def __init__(self, slice_: api.ResourceSlice, features: AllocatorFeatures = ALL_FEATURES) -> None:
        self.object = slice_
        self.name = slice_.metadata.name
        self.pool_id: PoolID = (slice_.spec.driver, slice_.spec.pool.name)
        self.reach = Reach(slice_.spec)
        self.devices = tuple(PublishedDevice(device, slice_, features) for device in slice_.spec.devices)
        self._skipped = features.skips(slice_)
        self._for_every_node = bool(slice_.spec.shared_counters) and features.counters

    @property
    def local_to(self) -> str:
        """The node of a node-local slice; empty for others."""
        return "" if self._for_every_node else self.object.spec.node_name or ""

    def relevant_to(self, node: fwk.NodeInfo) -> bool | str:
        """Whether devices or counters of the slice are visible to the node, or the error of a node selector."""
        if self._for_every_node:
            return True
        if self._skipped:
            return False
        if self.reach.stated:
            return self._covers(self.reach, node, f"slice {self.name}")
        if not self.object.spec.per_device_node_selection:
            return False
        for device in self.devices:
            assert device.reach is not None
            found = self._covers(device.reach, node, f"device {device.spec.name} in slice {self.name}")
            if found is not False:
                return found
        return False

    @staticmethod
    def _covers(reach: Reach, node: fwk.NodeInfo, what: str) -> bool | str:
        if reach.error is None:
            return reach.covers(node)
        return f"failed to perform node selection for {what}: failed to parse node selector: {reach.error}"
