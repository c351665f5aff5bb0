"""Taints that administrators put on devices by rule: merged into the slices on their way from the feeds to the engine.

What decides about pods only ever sees slices. A rule that comes, changes or goes is an update of those slices whose
devices it concerns: what was found out about them is looked at again, and pods that wait hear of it, as of any other.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from stowplan import api
from stowplan.api.kinds import KINDS, Kind
from stowplan.cluster.reflector import EventSink, Item

RULES, SLICES = KINDS["DeviceTaintRule"], KINDS["ResourceSlice"]


class TaintedSlices:
    """A sink in front of another, to which it tells slices with the taints that rules add."""

    def __init__(self, sink: EventSink) -> None:
        self._sink = sink
        self._rules: dict[str, api.DeviceTaintRule] = {}
        self._published: dict[str, api.ResourceSlice] = {}
        """The slices as their drivers made them."""
        self._told: dict[str, api.ResourceSlice] = {}

    def put(self, kind: Kind, items: list[Item]) -> None:
        if kind is SLICES:
            items = [(self._take(item), whole) for item, whole in items]
        self._sink.put(kind, items)
        if kind is RULES:
            rules = [item for item, _ in items]
            changed = [*filter(None, (self._rules.get(rule.metadata.name) for rule in rules)), *rules]
            self._rules |= {rule.metadata.name: rule for rule in rules}
            self._tell_again(changed)

    def removed(self, kind: Kind, items: list[Any]) -> None:
        names = [item.metadata.name for item in items]
        if kind is SLICES:
            for name in names:
                self._published.pop(name, None)
                self._told.pop(name, None)
        self._sink.removed(kind, items)
        if kind is RULES:
            self._tell_again([*filter(None, (self._rules.pop(name, None) for name in names))])

    def synced(self, kind: Kind) -> None:
        self._sink.synced(kind)

    def missing(self, kind: Kind) -> None:
        self._sink.missing(kind)

    def forbidden(self, kind: Kind, verb: str) -> None:
        """Without the rules, pods would get devices that are to be kept from them: nobody is told to go on."""
        if kind is not RULES:
            self._sink.forbidden(kind, verb)

    def _take(self, item: api.ResourceSlice) -> api.ResourceSlice:
        name = item.metadata.name
        self._published[name] = item
        told = self._told[name] = with_taints(item, self._rules.values())
        return told

    def _tell_again(self, changed: Iterable[api.DeviceTaintRule]) -> None:
        """Tell of the slices for which some rules, as they were or as they are, make a difference."""
        items: list[Item] = []
        for name, item in self._published.items():
            if any(_concerns(rule, item) for rule in changed):
                before, now = self._told[name], with_taints(item, self._rules.values())
                if _taints(before) != _taints(now):
                    self._told[name] = now
                    items.append((now, None))
        if items:
            self._sink.put(SLICES, items)


def with_taints(item: api.ResourceSlice, rules: Iterable[api.DeviceTaintRule]) -> api.ResourceSlice:
    """A slice whose devices have the taints of rules after their own; the very same where no rule concerns it."""
    specs = [rule.spec for rule in rules if _concerns(rule, item)]
    if not specs:
        return item
    devices = tuple(
        replace(device, taints=(*device.taints, *(spec.taint for spec in specs if _selects(spec, device))))
        for device in item.spec.devices
    )
    return replace(item, spec=replace(item.spec, devices=devices))


def _concerns(rule: api.DeviceTaintRule, item: api.ResourceSlice) -> bool:
    """Whether a rule may select devices of a slice. One without a selector selects every device there is."""
    wanted = rule.spec.device_selector
    return wanted is None or (wanted.driver in (None, item.spec.driver) and wanted.pool in (None, item.spec.pool.name))


def _taints(item: api.ResourceSlice) -> list[tuple[api.DeviceTaint, ...]]:
    return [device.taints for device in item.spec.devices]


def _selects(spec: api.DeviceTaintRuleSpec, device: api.Device) -> bool:
    return spec.device_selector is None or spec.device_selector.device in (None, device.name)
