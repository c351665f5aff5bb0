"""DeviceTaintRules: merges their taints into ResourceSlices between the reflectors and the engine.

Plugins see slices only. An added, updated or deleted rule is an update of the slices whose devices it selects, so that
caches are repaired and waiting pods are woken as by any other update.

Upstream: k8s.io/dynamic-resource-allocation/resourceslice/tracker/tracker.go
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
    """A sink that passes slices on to another with the taints of the rules added."""

    def __init__(self, sink: EventSink) -> None:
        self._sink = sink
        self._rules: dict[str, api.DeviceTaintRule] = {}
        self._published: dict[str, api.ResourceSlice] = {}
        """Slices as published by their drivers."""
        self._patched: dict[str, api.ResourceSlice] = {}
        """Slices as passed on."""

    def put(self, kind: Kind, items: list[Item]) -> None:
        if kind is SLICES:
            items = [(self._patch(item), whole) for item, whole in items]
        self._sink.put(kind, items)
        if kind is RULES:
            rules = [item for item, _ in items]
            changed = [*filter(None, (self._rules.get(rule.metadata.name) for rule in rules)), *rules]
            self._rules |= {rule.metadata.name: rule for rule in rules}
            self._update_slices(changed)

    def removed(self, kind: Kind, items: list[Any]) -> None:
        names = [item.metadata.name for item in items]
        if kind is SLICES:
            for name in names:
                self._published.pop(name, None)
                self._patched.pop(name, None)
        self._sink.removed(kind, items)
        if kind is RULES:
            self._update_slices([*filter(None, (self._rules.pop(name, None) for name in names))])

    def synced(self, kind: Kind) -> None:
        self._sink.synced(kind)

    def missing(self, kind: Kind) -> None:
        self._sink.missing(kind)

    def forbidden(self, kind: Kind, verb: str) -> None:
        """Forbidden rules are not reported as synced: without them, pods would get tainted devices."""
        if kind is not RULES:
            self._sink.forbidden(kind, verb)

    def _patch(self, item: api.ResourceSlice) -> api.ResourceSlice:
        name = item.metadata.name
        self._published[name] = item
        patched = self._patched[name] = with_taints(item, self._rules.values())
        return patched

    def _update_slices(self, changed: Iterable[api.DeviceTaintRule]) -> None:
        """Pass on the slices whose taints differ because of changed rules, old and new versions."""
        items: list[Item] = []
        for name, item in self._published.items():
            if any(_concerns(rule, item) for rule in changed):
                before, now = self._patched[name], with_taints(item, self._rules.values())
                if _taints(before) != _taints(now):
                    self._patched[name] = now
                    items.append((now, None))
        if items:
            self._sink.put(SLICES, items)


def with_taints(item: api.ResourceSlice, rules: Iterable[api.DeviceTaintRule]) -> api.ResourceSlice:
    """The slice with the taints of the rules after its own; the same object if no rule selects its devices."""
    specs = [rule.spec for rule in rules if _concerns(rule, item)]
    if not specs:
        return item
    devices = tuple(
        replace(device, taints=(*device.taints, *(spec.taint for spec in specs if _selects(spec, device))))
        for device in item.spec.devices
    )
    return replace(item, spec=replace(item.spec, devices=devices))


def _concerns(rule: api.DeviceTaintRule, item: api.ResourceSlice) -> bool:
    """Whether a rule may select devices of a slice. A rule without a selector selects all devices."""
    wanted = rule.spec.device_selector
    return wanted is None or (wanted.driver in (None, item.spec.driver) and wanted.pool in (None, item.spec.pool.name))


def _taints(item: api.ResourceSlice) -> list[tuple[api.DeviceTaint, ...]]:
    return [device.taints for device in item.spec.devices]


def _selects(spec: api.DeviceTaintRuleSpec, device: api.Device) -> bool:
    return spec.device_selector is None or spec.device_selector.device in (None, device.name)
