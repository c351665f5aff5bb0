"""The table of releases: what each of them has, and which one a version selects."""

from __future__ import annotations

import pytest

from stowplan.config.releases import LATEST, OLDEST, RELEASES, FeatureGate, Rules, release_of


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("1.34", "1.34"),
        ("v1.34.4", "1.34"),
        ("v1.33.5-gke.1080000", "1.33"),
        ("v1.35.0+k3s1", "1.35"),
        ("v1.30.14", OLDEST.version),
        ("v1.37.0", LATEST.version),
        ("v2.0.0", LATEST.version),
    ],
)
def test_a_version_has_the_nearest_release(version: str, expected: str) -> None:
    assert release_of(version).version == expected


@pytest.mark.parametrize("text", ["", "latest", "1", "v1.x"])
def test_text_that_is_not_a_version(text: str) -> None:
    with pytest.raises(ValueError, match="could not parse"):
        release_of(text)


def test_the_latest_release_has_no_differences() -> None:
    assert LATEST.rules == Rules()
    assert (LATEST.weights, LATEST.later_plugins, LATEST.later_points) == ({}, frozenset(), frozenset())
    assert [release.version for release in RELEASES.values()] == ["1.33", "1.34", "1.35", "1.36"]


GATES = {
    "PodLevelResources": "-+++",
    "InPlacePodLevelResourcesVerticalScaling": "..-+",
    "NodeDeclaredFeatures": "..-+",
    "VolumeAttributesClass": "-+++",
    "DynamicResourceAllocation": "-+++",
    "DRAPrioritizedList": "-+++",
    "DRAAdminAccess": "-+++",
    "DRASchedulerFilterTimeout": ".+++",
    "DRADeviceTaints": "---+",
    "DRAPartitionableDevices": "---+",
    "DRAExtendedResource": ".--+",
    "DRAConsumableCapacity": ".--+",
    "DRADeviceBindingConditions": ".--+",
    "CSIMigrationPortworx": "+++.",
    "NominatedNodeNameForExpectation": ".-++",
    "SchedulerAsyncPreemption": "++++",
}
"""Defaults by release, the oldest first; a dot where the gate does not exist."""


@pytest.mark.parametrize("name", GATES)
def test_defaults_of_gates_that_change_decisions(name: str) -> None:
    gates = [release.gates.get(name) for release in RELEASES.values()]
    assert "".join("." if gate is None else "+" if gate.default else "-" for gate in gates) == GATES[name]
    assert [release.has(name) for release in RELEASES.values()] == [sign == "+" for sign in GATES[name]]


def test_stage_and_lock_of_gates() -> None:
    assert RELEASES["1.33"].gates["DynamicResourceAllocation"] == FeatureGate("BETA", False, False)
    assert RELEASES["1.35"].gates["DynamicResourceAllocation"] == FeatureGate("", True, True)
    assert [len(release.gates) for release in RELEASES.values()] == [185, 202, 218, 241]


def test_a_release_with_other_gates_is_another_release() -> None:
    old = RELEASES["1.33"]
    assert old.with_gates({"PodLevelResources": False}) is old
    changed = old.with_gates({"PodLevelResources": True})
    assert (changed.version, changed.has("PodLevelResources"), old.has("PodLevelResources")) == ("1.33", True, False)
