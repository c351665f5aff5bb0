"""Asking expressions about a device."""

from __future__ import annotations

import re

from stowplan import api
from stowplan.cel import DeviceValue, compile_selector

DRIVER = "gpu.example.com"

GPU = api.Device(
    name="gpu-0",
    attributes={
        "model": api.DeviceAttribute(string_value="a100"),
        "numa": api.DeviceAttribute(int_value=1),
        "fast": api.DeviceAttribute(bool_value=True),
        "slow": api.DeviceAttribute(bool_value=False),
        "version": api.DeviceAttribute(version_value="1.2.3-rc.1"),
        "dra.example.com/rack": api.DeviceAttribute(string_value="r7"),
        "address": api.DeviceAttribute(string_value="10.0.0.5"),
    },
    capacity={
        "memory": api.DeviceCapacity(value="40Gi"),
        "lanes": api.DeviceCapacity(value="4"),
        "half": api.DeviceCapacity(value="500m"),
    },
)


def ask(expression: str, device: api.Device = GPU) -> bool | str:
    """The value of an expression for a device, or the text of its compile or evaluation error."""
    selector = compile_selector(expression.replace("GPU", f'device.attributes["{DRIVER}"]'))
    return selector.matches(DeviceValue(DRIVER, device)) if selector.error is None else selector.error


TEXT = "'aaaaaaaaaa'"


def chained(start: str, step: str, times: int, result: str) -> str:
    """`step` applied to x a number of times; x is the value so far."""

    def named(text: str, number: int) -> str:
        return re.sub(r"\bx\b", f"x{number}", text)

    expression = named(result, times)
    for number in range(times, 0, -1):
        expression = f"cel.bind(x{number}, {named(step, number - 1)}, {expression})"
    return f"cel.bind(x0, {start}, {expression})"
