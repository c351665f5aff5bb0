"""The variable `device` of an expression.

Upstream: k8s.io/dynamic-resource-allocation/cel/compile.go
"""

from __future__ import annotations

from typing import Any

from stowplan import api
from stowplan.api import codec
from stowplan.api.quantity import parse
from stowplan.cel.semver_library import parse_semver
from stowplan.cel.types import ANY, BOOL, QUANTITY, STRING, Type, map_of
from stowplan.cel.values import CelError, Domains, Quantity

FIELDS: dict[str, Type] = {
    "driver": STRING,
    "allowMultipleAllocations": BOOL,
    "attributes": map_of(STRING, map_of(STRING, ANY)),
    "capacity": map_of(STRING, map_of(STRING, QUANTITY)),
}


class DeviceValue:
    """The variable `device`. `error` is set if an attribute has no supported value."""

    __slots__ = ("_device", "_driver", "_identity", "error", "variables")

    def __init__(self, driver: str, device: api.Device) -> None:
        self._driver, self._device = driver, device
        self._identity: bytes | None = None
        self.error: str | None = None
        attributes, capacity = Domains(), Domains()
        for name, attribute in device.attributes.items():
            try:
                value = _value(attribute)
            except CelError as error:
                self.error = f"attribute {name}: {error}"
                break
            _put(attributes, name, driver, value)
        for name, item in device.capacity.items():
            _put(capacity, name, driver, Quantity(parse(item.value)))
        self.variables: dict[str, Any] = {
            "device": {
                "driver": driver,
                "allowMultipleAllocations": bool(device.allow_multiple_allocations),
                "attributes": attributes,
                "capacity": capacity,
            }
        }

    @property
    def identity(self) -> bytes:
        """Equal for devices that no expression can tell apart."""
        if self._identity is None:
            device = self._device
            parts = (self._driver, device.attributes, device.capacity, bool(device.allow_multiple_allocations))
            self._identity = codec.encode(parts)
        return self._identity


def _put(domains: Domains, name: str, driver: str, value: Any) -> None:
    """Add a value to its domain. The domain of an unqualified name is the driver's."""
    domain, slash, bare = name.partition("/")
    key = (domain, bare) if slash else (driver, name)
    domains.setdefault(key[0], {})[key[1]] = value


def _value(attribute: api.DeviceAttribute) -> Any:
    if attribute.int_value is not None:
        return attribute.int_value
    if attribute.bool_value is not None:
        return attribute.bool_value
    if attribute.string_value is not None:
        return attribute.string_value
    if attribute.version_value is not None:
        try:
            return parse_semver(attribute.version_value)
        except CelError as error:
            raise CelError(f"parse semantic version: {error}") from None
    raise CelError("unsupported attribute value")
