"""CEL selectors of devices in words: the comparison that no device satisfies, and the nearest value that is there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from stowplan import api
from stowplan.api.quantity import parse
from stowplan.plugins.dynamic_resources.allocation.devices import PublishedDevice
from stowplan.plugins.dynamic_resources.device_inventory import RequestInventory, Stage

_MAX_NAMED = 3
_MAX_CHARACTERS = 120

_COMPARED = re.compile(
    r"""\s*device\.capacity\[["'](?P<domain>[^"']+)["']\]\.(?P<name>\w+)\s*
        (?:\.compareTo\(quantity\(["'](?P<amount>[^"']+)["']\)\)\s*(?P<operator>>=|>|<=|<|==)\s*0
         |\.is(?P<way>Greater|Less)Than\(quantity\(["'](?P<bound>[^"']+)["']\)\))\s*""",
    re.VERBOSE,
)
_EQUAL = re.compile(
    r"""\s*device\.attributes\[["'](?P<domain>[^"']+)["']\]\.(?P<name>\w+)\s*==\s*
        (?:["'](?P<text>[^"']*)["']|(?P<bare>\w+))\s*""",
    re.VERBOSE,
)


def selector_words(inventory: RequestInventory) -> tuple[str, dict[str, Any]]:
    """(a sentence about devices of the class that do not match, facts)."""
    devices, matching, need = inventory.devices[Stage.OF_CLASS], inventory.count(Stage.MATCHING), inventory.need
    number, expression = _decisive(inventory, devices)
    what, nearest = _in_words(expression, devices) if number else ("all selectors", "")
    name = inventory.wanted.device_class.metadata.name
    of_class = "1 device" if len(devices) == 1 else f"{len(devices):,} devices"
    how = f"none {what}" if not matching else f"{matching:,} {what}, {need:,} are wanted"
    if number and what.startswith("matches") and matching > 1:
        how = how.replace("matches", "match", 1)
    return f"{of_class} of class {name}, {how}{nearest}", {"selector": expression}


def _decisive(inventory: RequestInventory, devices: Sequence[PublishedDevice]) -> tuple[int, str]:
    """(number of the selector that the fewest devices match on its own, from 1; its text)."""
    selectors: tuple[api.DeviceSelector, ...] = inventory.wanted.spec.selectors
    compiled = inventory.wanted.selectors[len(inventory.wanted.device_class.spec.selectors) :]
    passing = [
        sum(selector.error is None and device.verdict(selector) is True for device in devices)
        for _, _, selector in compiled
    ]
    position = passing.index(min(passing))
    cel = selectors[position].cel
    if len(passing) > 1 and passing[position] >= inventory.need:
        texts = [each.cel.expression for each in selectors if each.cel is not None]
        return 0, " && ".join(texts)
    return position + 1, "" if cel is None else cel.expression


def _in_words(expression: str, devices: Sequence[PublishedDevice]) -> tuple[str, str]:
    """(the condition, the nearest values that are there)."""
    compared = _COMPARED.fullmatch(expression)
    if compared is not None:
        amount = compared["amount"] or compared["bound"]
        operator = compared["operator"] or (">" if compared["way"] == "Greater" else "<")
        return f"with {compared['name']} {operator} {amount}", _nearest_amount(compared, operator, devices)
    equal = _EQUAL.fullmatch(expression)
    if equal is not None:
        value = equal["text"] if equal["text"] is not None else equal["bare"]
        return f"with {equal['name']} {value}", _values(f"{equal['domain']}/{equal['name']}", devices)
    short = expression if len(expression) <= _MAX_CHARACTERS else expression[: _MAX_CHARACTERS - 1] + "…"
    return f"matches {short}", ""


def _nearest_amount(compared: re.Match[str], operator: str, devices: Sequence[PublishedDevice]) -> str:
    name, qualified = compared["name"], f"{compared['domain']}/{compared['name']}"
    amounts = [
        found.value
        for device in devices
        if (found := device.spec.capacity.get(qualified) or device.spec.capacity.get(name)) is not None
    ]
    if not amounts:
        return f"; no device has a capacity {name}"
    if operator == "==":
        return ""
    most = operator in (">", ">=")
    nearest = max(amounts, key=parse) if most else min(amounts, key=parse)
    return f"; the {'largest' if most else 'smallest'} has {nearest}"


def _values(attribute: str, devices: Sequence[PublishedDevice]) -> str:
    values = Counter(str(found[1]) for device in devices if (found := device.attribute(attribute)) is not None)
    if not values:
        return f"; no device has an attribute {attribute.rpartition('/')[2]}"
    there = ", ".join(f"{value} ({number:,})" for value, number in values.most_common(_MAX_NAMED))
    return f"; there is {there}"
