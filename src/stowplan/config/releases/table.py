"""The table of releases."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

from stowplan.config.releases.release import DeviceRules, FeatureGate, Release, Rules

_STAGES = {"a": "ALPHA", "b": "BETA", "g": "", "d": "DEPRECATED"}
_ABSENT = "."
_VERSION = re.compile(r"v?([0-9]+)\.([0-9]+)(?:\.[0-9]+)?(?:[-+].*)?")


@cache
def _gate_columns() -> dict[str, dict[str, FeatureGate]]:
    """The gates of every release: a stage letter, the default (+ or -), and ! for a locked gate."""
    head, *rows = (files(__package__) / "feature_gates.txt").read_text().splitlines()
    columns: dict[str, dict[str, FeatureGate]] = {version: {} for version in head.split()[1:]}
    for row in rows:
        name, *cells = row.split()
        for version, cell in zip(columns, cells, strict=True):
            if cell != _ABSENT:
                columns[version][name] = FeatureGate(_STAGES[cell[0]], cell[1] == "+", cell.endswith("!"))
    return columns


def _release(version: str, patch: str, **differences: Any) -> Release:
    gates = _gate_columns()[version]
    enabled = frozenset(name for name, gate in gates.items() if gate.default)
    return Release(version=version, patch=patch, gates=gates, enabled=enabled, **differences)


_DEVICES_1_35 = DeviceRules(
    skips_counter_slices=True,
    rejects_distinct_attributes=True,
    selectors_read_sharing=False,
    search_timeout_is_error=False,
    keeps_alternative=False,
    not_owner="ResourceClaim {claim} was not created for pod {pod} (pod is not owner)",
)
_RULES_1_35 = Rules(
    balance_improvement=False,
    image_volumes=False,
    leaving_anti_affinity_wakes=False,
    cancels_pre_bind=False,
    preempted_refers_to_preemptor=True,
    rejects_unused_ratio=False,
    devices=_DEVICES_1_35,
)
_DEVICES_1_34 = replace(
    _DEVICES_1_35,
    skips_incomplete_pools=False,
    skips_counter_slices=False,
    rejects_capacity_requests=True,
    rejects_distinct_attributes=False,
    selectors_read_sharing=True,
    classes_wake_fit=False,
)
_RULES_1_34 = replace(_RULES_1_35, evicts_terminating_victims=True, devices=_DEVICES_1_34)
_RULES_1_33 = replace(
    _RULES_1_34,
    too_small_is_unresolvable=False,
    untolerated_taint="node(s) had untolerated taint {{{key}: {value}}}",
    read_write_once_pod="node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode",
    namespace_selector_without_labels=False,
    devices=replace(_DEVICES_1_34, allocatable_wakes=False),
)
_PLACEMENT_POINTS = frozenset({"placementGenerate", "placementScore"})
_BEFORE_1_35: dict[str, Any] = {
    "later_plugins": frozenset({"NodeDeclaredFeatures"}),
    "later_points": _PLACEMENT_POINTS,
    "later_score_plugins": frozenset({"DynamicResources"}),
    "weights": {"DynamicResources": 0},
}

RELEASES = {
    release.version: release
    for release in (
        _release("1.33", "v1.33.13", rules=_RULES_1_33, **_BEFORE_1_35),
        _release("1.34", "v1.34.4", rules=_RULES_1_34, **_BEFORE_1_35),
        _release(
            "1.35",
            "v1.35.4",
            rules=_RULES_1_35,
            later_points=_PLACEMENT_POINTS,
            idle_plugins=frozenset({"GangScheduling"}),
        ),
        _release("1.36", "v1.36.4"),
    )
}
"""By version, the oldest first."""

OLDEST, *_, LATEST = RELEASES.values()


def release_of(version: str) -> Release:
    """The release of a version such as "1.34", "v1.34.4" or a server's `gitVersion`.

    A version outside of the table has the nearest release. Raises ValueError for text that is not a version.
    """
    found = _VERSION.fullmatch(version.strip())
    if found is None:
        raise ValueError(f"could not parse {version!r} as version")
    known = {tuple(map(int, release.version.split("."))): release for release in RELEASES.values()}
    wanted = (int(found[1]), int(found[2]))
    return known.get(wanted) or (OLDEST if wanted < min(known) else LATEST)
