"""Metrics of pod groups."""

from __future__ import annotations

from tests.builders import node
from tests.unit.engine.grouped import group, members
from tests.unit.observe.metered_engine import MeteredEngine

from stowplan.config import default_configuration
from stowplan.config.feature_gates import GANG_SCHEDULING, GENERIC_WORKLOAD, TOPOLOGY_AWARE
from stowplan.config.releases import LATEST

PROFILE = "default-scheduler"


def test_a_scheduled_and_an_unschedulable_group() -> None:
    release = LATEST.with_gates(dict.fromkeys((GENERIC_WORKLOAD, GANG_SCHEDULING, TOPOLOGY_AWARE), True))
    racks = [node(name, cpu=4, labels={"rack": name}) for name in ("r1", "r2")]
    stage = MeteredEngine(*racks, groups=True, config=default_configuration(release))
    stage.host.put(group("g", 2, rack="rack"), *members(2, "g"), group("h", 9, rack="rack"), *members(9, "h"))
    stage.host.schedule()
    for result in ("scheduled", "unschedulable"):
        by_result = {"result": result, "profile": PROFILE}
        assert stage.sample("scheduler_podgroup_schedule_attempts_total", **by_result) == 1
        assert stage.sample("scheduler_podgroup_scheduling_attempt_duration_seconds_count", **by_result) == 1
    assert stage.sample("scheduler_podgroup_scheduling_algorithm_duration_seconds_count") == 2
    # Both groups have placements; those of the first one are scored.
    points = {"PlacementGenerate": 2, "PlacementScore": 1, "PlacementScoreExtensionNormalize": None}
    for point, times in points.items():
        labels = {"extension_point": point, "status": "Success", "profile": PROFILE}
        assert stage.sample("scheduler_framework_extension_point_duration_seconds_count", **labels) == times
    plugins = {
        ("TopologyPlacementGenerator", "PlacementGenerate"): 2,
        ("NodeResourcesFit", "PlacementScore"): 2,
        ("PodGroupPodsCount", "PlacementScore"): 2,
        ("PodGroupPodsCount", "PlacementScoreExtensionNormalize"): 1,
    }
    for (plugin, point), times in plugins.items():
        labels = {"plugin": plugin, "extension_point": point, "status": "Success"}
        assert stage.sample("scheduler_plugin_execution_duration_seconds_count", **labels) == times, (plugin, point)
