from __future__ import annotations

import pytest
from tests.builders import node
from tests.unit.observe.metered_engine import MeteredEngine

from stowplan.observe.attempt_metrics import BROKEN, ERROR, SCHEDULED, UNSCHEDULABLE, AttemptMetrics, EndedAttempt

PROFILE = "default-scheduler"


def ending(feasible: int = 2, post_filter: str = "", attempts: int = 1, flushed: bool = False) -> EndedAttempt:
    return EndedAttempt(10.0, 10.5, 7, feasible, post_filter, 12.0, 9.0, attempts, flushed)


@pytest.fixture
def stage() -> MeteredEngine:
    return MeteredEngine(node("n1"))


def metrics_of(stage: MeteredEngine, *unconcerned: str, straight: bool = True) -> AttemptMetrics:
    return AttemptMetrics(stage.host.engine.profiles[PROFILE], frozenset(unconcerned), straight)


@pytest.mark.parametrize(
    ("kind", "result", "filtered"),
    [
        (SCHEDULED, "scheduled", "Success"),
        (UNSCHEDULABLE, "unschedulable", "Success"),
        (ERROR, "error", "Success"),
        (BROKEN, "error", "Error"),
    ],
)
def test_results(stage: MeteredEngine, kind: str, result: str, filtered: str) -> None:
    made = metrics_of(stage)
    made.ended[kind] += [ending(), ending()]
    made.count(stage.metrics)
    assert stage.sample("scheduler_schedule_attempts_total", result=result, profile=PROFILE) == 2
    assert stage.sample("scheduler_scheduling_attempt_duration_seconds_sum", result=result, profile=PROFILE) == 4.0
    name = "scheduler_framework_extension_point_duration_seconds_sum"
    assert stage.sample(name, extension_point="Filter", status=filtered, profile=PROFILE) == 1.0


def test_what_is_counted_is_gone(stage: MeteredEngine) -> None:
    made = metrics_of(stage)
    made.ended[SCHEDULED].append(ending())
    made.count(stage.metrics)
    made.count(stage.metrics)
    assert stage.sample("scheduler_schedule_attempts_total", result="scheduled", profile=PROFILE) == 1


def test_post_filter_is_told_by_what_it_came_to(stage: MeteredEngine) -> None:
    made = metrics_of(stage)
    made.ended[UNSCHEDULABLE] += [ending(0, "Unschedulable"), ending(0, "Success"), ending(0, "")]
    made.count(stage.metrics)
    name = "scheduler_framework_extension_point_duration_seconds_count"
    for status in ("Unschedulable", "Success"):
        assert stage.sample(name, extension_point="PostFilter", status=status, profile=PROFILE) == 1


def test_the_points_of_a_pod_that_somebody_holds_up_are_told_by_others(stage: MeteredEngine) -> None:
    made = metrics_of(stage, straight=False)
    made.ended[SCHEDULED].append(ending())
    made.count(stage.metrics)
    name = "scheduler_framework_extension_point_duration_seconds_count"
    assert stage.sample(name, extension_point="Bind", status="Success", profile=PROFILE) is None


def test_plugins_that_are_not_concerned_answer_skip(stage: MeteredEngine) -> None:
    made = metrics_of(stage, "NodePorts", "NodeAffinity")
    made.ended[SCHEDULED].append(ending())
    made.count(stage.metrics)
    name = "scheduler_plugin_execution_duration_seconds_count"
    assert stage.sample(name, plugin="NodePorts", extension_point="PreFilter", status="Skip") == 1
    assert stage.sample(name, plugin="NodePorts", extension_point="Filter", status="Success") is None
    assert stage.sample(name, plugin="DefaultBinder", extension_point="Bind", status="Success") == 1
    evaluated = {"plugin": "NodeName", "extension_point": "Filter", "profile": PROFILE}
    assert stage.sample("scheduler_plugin_evaluation_total", **evaluated) == 7


PLUGINS = "scheduler_plugin_execution_duration_seconds"


@pytest.mark.parametrize(("feasible", "scored"), [(2, {"PreScore", "Score", "ScoreExtensionNormalize"}), (1, set())])
def test_plugins_share_the_time_it_took_to_decide(stage: MeteredEngine, feasible: int, scored: set[str]) -> None:
    made = metrics_of(stage, "NodePorts", straight=False)
    made.ended[SCHEDULED].append(ending(feasible))
    made.count(stage.metrics)
    told = stage.samples(f"{PLUGINS}_sum")
    assert {labels["extension_point"] for labels, _ in told} == {"Sign", "PreFilter", "Filter"} | scored
    assert sum(seconds for _, seconds in told) == pytest.approx(0.5)
    shares = {seconds for labels, seconds in told if labels["status"] == "Success"}
    assert len(shares) == 1
    assert [labels["plugin"] for labels, seconds in told if not seconds] == ["NodePorts"]


@pytest.mark.parametrize(
    ("status", "plugins"),
    [("Unschedulable", {"DynamicResources", "DefaultPreemption"}), ("Success", {"DefaultPreemption"}), ("", set())],
)
def test_plugins_at_post_filter_have_their_share(stage: MeteredEngine, status: str, plugins: set[str]) -> None:
    made = metrics_of(stage)
    made.ended[UNSCHEDULABLE].append(ending(0, status))
    made.count(stage.metrics)
    told = [(labels, seconds) for labels, seconds in stage.samples(f"{PLUGINS}_sum")]
    assert sum(seconds for _, seconds in told) == pytest.approx(0.5)
    asked = {labels["plugin"] for labels, _ in told if labels["extension_point"] == "PostFilter"}
    assert asked == plugins
    assert {labels["status"] for labels, _ in told if labels["extension_point"] == "PostFilter"} <= {status}


def test_the_first_ending_of_each_kind_tells_of_plugins(stage: MeteredEngine) -> None:
    made = metrics_of(stage)
    made.ended[SCHEDULED] += [ending() for _ in range(12)]
    made.ended[UNSCHEDULABLE] += [ending(0, "Unschedulable"), ending(0, "Success")]
    made.count(stage.metrics)
    labels = {"plugin": "NodeResourcesFit", "extension_point": "Filter", "status": "Success"}
    assert stage.sample(f"{PLUGINS}_count", **labels) == 4
    assert stage.sample(f"{PLUGINS}_count", plugin="DefaultBinder", extension_point="Bind", status="Success") == 2


def test_only_plugins_that_have_a_signature_sign_and_only_those_that_normalize_do(stage: MeteredEngine) -> None:
    made = metrics_of(stage, "NodeAffinity")
    made.ended[SCHEDULED].append(ending())
    made.count(stage.metrics)

    def at(point: str) -> set[str]:
        told = stage.samples(f"{PLUGINS}_count")
        return {labels["plugin"] for labels, _ in told if labels["extension_point"] == point}

    assert {"NodeResourcesFit", "TaintToleration", "ImageLocality"} <= at("Sign")
    assert not {"NodeAffinity", "NodeName"} & at("Sign")
    assert {"TaintToleration", "PodTopologySpread", "InterPodAffinity"} <= at("ScoreExtensionNormalize")
    assert not {"NodeAffinity", "NodeResourcesFit", "ImageLocality"} & at("ScoreExtensionNormalize")


@pytest.mark.parametrize(
    ("reserves", "points"), [(False, {"Reserve", "PreBindPreFlight"}), (True, {"PreBindPreFlight"})]
)
def test_plugins_share_the_time_between_decision_and_binding(
    stage: MeteredEngine, reserves: bool, points: set[str]
) -> None:
    made = AttemptMetrics(stage.host.engine.profiles[PROFILE], frozenset(), True, reserves)
    made.until_binding += [0.25, 0.5]
    for _ in range(2):
        made.count(stage.metrics)
    told = stage.samples(f"{PLUGINS}_sum")
    assert {labels["extension_point"] for labels, _ in told} == points
    assert {labels["plugin"] for labels, _ in told} == {"VolumeBinding", "DynamicResources"}
    assert sum(seconds for _, seconds in told) == pytest.approx(0.75)


def test_a_reservation_that_is_told_by_others_is_not_told_twice(stage: MeteredEngine) -> None:
    made = AttemptMetrics(stage.host.engine.profiles[PROFILE], frozenset(), True, True)
    made.ended[SCHEDULED].append(ending())
    made.count(stage.metrics)
    told = stage.samples("scheduler_framework_extension_point_duration_seconds_count")
    assert "Reserve" not in {labels["extension_point"] for labels, _ in told}


def test_waits_are_told_by_attempts(stage: MeteredEngine) -> None:
    made = metrics_of(stage)
    made.ended[SCHEDULED] += [ending(attempts=1), ending(attempts=2), ending(attempts=2, flushed=True)]
    made.count(stage.metrics)
    assert stage.sample("scheduler_pod_scheduling_sli_duration_seconds_sum", attempts="2") == 6.0
    assert stage.sample("scheduler_pod_scheduling_attempts_sum") == 5
    assert stage.sample("scheduler_pod_scheduled_after_flush_total") == 1


def test_no_cycle_has_or_leaves_a_hint(stage: MeteredEngine) -> None:
    made = metrics_of(stage)
    made.ended[SCHEDULED] += [ending(feasible=3), ending(feasible=1)]
    made.ended[UNSCHEDULABLE].append(ending(feasible=0))
    made.count(stage.metrics)
    assert stage.sample("scheduler_batch_attempts_total", profile=PROFILE, result="no_hint") == 3
    assert stage.sample("scheduler_batch_cache_flushed_total", profile=PROFILE, reason="pod_not_batchable") == 1
    assert stage.sample("scheduler_batch_cache_flushed_total", profile=PROFILE, reason="empty_list") == 1
    assert stage.sample("scheduler_store_schedule_results_duration_seconds_count", profile=PROFILE) == 2
