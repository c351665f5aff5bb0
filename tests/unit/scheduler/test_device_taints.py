from __future__ import annotations

from functools import cached_property
from typing import Any

import pytest
from tests.builders import make, node
from tests.unit.plugins.dynamic_resources.devices import CLASS, DRIVER, Devices, claim, devices, using

from stowplan import api
from stowplan.api.kinds import KINDS, Kind
from stowplan.engine import Engine
from stowplan.scheduler.device_taints import RULES, SLICES, TaintedSlices, with_taints
from stowplan.scheduler.scheduler import kinds_read

LACKING = "0/1 nodes are available: 1 cannot allocate all claims."


def rule(name: str, effect: str = "NoSchedule", key: str = "broken", **selector: str) -> Any:
    spec = {"deviceSelector": selector or None, "taint": {"key": key, "effect": effect}}
    return make("DeviceTaintRule", name, spec=spec)


class Listener:
    """Where slices go, with the keys of the taints of each device; an engine hears all of it."""

    def __init__(self, engine: Engine | None = None) -> None:
        self._engine = engine
        self.told: list[tuple[str, list[list[str]]]] = []
        self.other: list[str] = []

    def put(self, kind: Kind, items: list[Any]) -> None:
        for item, _ in items:
            if kind is SLICES:
                taints = [[taint.key for taint in device.taints] for device in item.spec.devices]
                self.told.append((item.metadata.name, taints))
            if self._engine is not None:
                self._engine.put(item)

    def removed(self, kind: Kind, items: list[Any]) -> None:
        for item in items if self._engine is not None else ():
            self._engine.remove(item)  # type: ignore[union-attr]

    def synced(self, kind: Kind) -> None:
        self.other.append(f"synced {kind.name}")

    def missing(self, kind: Kind) -> None:
        self.other.append(f"missing {kind.name}")

    def forbidden(self, kind: Kind, verb: str) -> None:
        self.other.append(f"forbidden {kind.name}")


class Ruled(Devices):
    """A host whose watches tell of slices by way of the rules."""

    @cached_property
    def listener(self) -> Listener:
        return Listener(self.engine)

    @cached_property
    def slices(self) -> TaintedSlices:
        return TaintedSlices(self.listener)

    def deliver_one(self, position: int = 0) -> None:
        change = self.undelivered.pop(position)
        kind = KINDS[type(change.item).__name__]
        if change.removed:
            self.slices.removed(kind, [change.item])
        else:
            self.slices.put(kind, [(change.item, None)])


def tolerant(name: str) -> Any:
    exactly = {
        "deviceClassName": "gpu",
        "allocationMode": "ExactCount",
        "count": 1,
        "tolerations": [{"key": "broken", "operator": "Exists"}],
    }
    return make("ResourceClaim", name, "default", spec={"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}})


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_a_rule_keeps_claims_from_devices_while_it_is_there(effect: str) -> None:
    host = Ruled(CLASS, node("a"), devices("a", 3))
    host.put(rule("first", effect, device="gpu-0"))
    host.put(claim("one"), using("one", "one"), tolerant("two"), using("two", "two"))
    host.schedule()
    assert (host.given("one"), host.given("two")) == (["a/gpu-1"], ["a/gpu-0"])

    host.put(rule("all", effect))
    host.put(claim("three"), using("three", "three"))
    host.schedule()
    assert host.condition("three")[2].startswith(LACKING)
    assert host.place("three") == "unschedulable"
    host.delete(rule("all"))
    host.advance(10)
    assert host.given("three") == ["a/gpu-2"]


def test_what_was_found_out_follows_a_rule_that_changes() -> None:
    """Claims of one kind share what was found: a device that is tainted in between is not given to the next."""
    host = Ruled(CLASS, node("a"), devices("a", 4))
    host.put(claim("one"), using("one", "one"))
    host.schedule()
    host.put(rule("r", device="gpu-1"), claim("two"), using("two", "two"))
    host.schedule()
    host.put(rule("r", device="gpu-3"), claim("three"), using("three", "three"), claim("four"), using("four", "four"))
    host.schedule()
    assert [host.given(name) for name in ("one", "two", "three")] == [["a/gpu-0"], ["a/gpu-2"], ["a/gpu-1"]]
    assert host.place("four") == "unschedulable"
    host.put(rule("r", effect="None"))
    host.advance(10)
    assert host.given("four") == ["a/gpu-3"]


@pytest.mark.parametrize(
    ("selector", "tainted"),
    [
        ({}, [["broken"], ["broken"]]),
        ({"driver": DRIVER}, [["broken"], ["broken"]]),
        ({"driver": "nic.example.com"}, [[], []]),
        ({"pool": "a"}, [["broken"], ["broken"]]),
        ({"pool": "b"}, [[], []]),
        ({"device": "gpu-1"}, [[], ["broken"]]),
        ({"driver": DRIVER, "pool": "a", "device": "gpu-0"}, [["broken"], []]),
        ({"driver": DRIVER, "pool": "b", "device": "gpu-0"}, [[], []]),
        ({"driver": "", "pool": "a"}, [[], []]),
    ],
)
def test_devices_are_selected_by_driver_pool_and_name(selector: dict[str, str], tainted: list[list[str]]) -> None:
    found = with_taints(devices("a"), [rule("r", **selector)])
    assert [[taint.key for taint in device.taints] for device in found.spec.devices] == tainted


def test_taints_of_rules_come_after_those_of_the_driver() -> None:
    item = devices("a", 1, taints=[{"key": "own", "effect": "NoSchedule"}])
    found = with_taints(item, [rule("r", key="first"), rule("s", "NoExecute", "second")])
    (device,) = found.spec.devices
    assert [(taint.key, taint.effect) for taint in device.taints] == [
        ("own", "NoSchedule"),
        ("first", "NoSchedule"),
        ("second", "NoExecute"),
    ]
    assert with_taints(item, [rule("r", pool="elsewhere")]) is item


def test_only_slices_for_which_a_rule_makes_a_difference_are_told_again() -> None:
    listener = Listener()
    slices = TaintedSlices(listener)
    slices.put(RULES, [(rule("b", pool="b"), None)])
    slices.put(SLICES, [(devices(name, 1), None) for name in "abc"])
    assert listener.told == [("a-gpus", [[]]), ("b-gpus", [["broken"]]), ("c-gpus", [[]])]
    listener.told.clear()
    slices.put(RULES, [(rule("b", pool="b"), None)])
    slices.put(RULES, [(rule("other", device="gpu-7"), None)])
    assert not listener.told
    slices.put(RULES, [(rule("b", pool="c"), None)])
    assert listener.told == [("b-gpus", [[]]), ("c-gpus", [["broken"]])]
    listener.told.clear()
    slices.removed(SLICES, [devices("c")])
    slices.removed(RULES, [api.DeviceTaintRule(metadata=api.ObjectMeta(name="b"))])
    assert not listener.told


def test_nobody_goes_on_without_rules_that_may_not_be_read() -> None:
    listener = Listener()
    slices = TaintedSlices(listener)
    slices.forbidden(RULES, "list")
    slices.forbidden(SLICES, "list")
    slices.missing(SLICES)
    slices.synced(RULES)
    assert listener.other == ["forbidden ResourceSlice", "missing ResourceSlice", "synced DeviceTaintRule"]


@pytest.mark.parametrize("taint_rules", [False, True])
def test_rules_are_watched_where_they_count(taint_rules: bool) -> None:
    profiles = Devices().engine.profiles.values()
    assert (RULES in kinds_read(profiles, taint_rules)) is taint_rules
    assert kinds_read([], taint_rules) == [KINDS["Node"], KINDS["Pod"]]
