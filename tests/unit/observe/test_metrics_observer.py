"""Observers are called by hand here, so that the test says what took how long."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from tests.builders import node, pod
from tests.unit.observe.metered_engine import MeteredEngine

from stowplan.framework import Code, QueuedPodInfo, Status
from stowplan.runtime import Decision

PROFILE = "default-scheduler"


def decision(stage: MeteredEngine, unit: QueuedPodInfo) -> Decision:
    return stage.host.engine.profiles[PROFILE].decide(unit.pod)


def attempt(stage: MeteredEngine, unit: QueuedPodInfo, deciding: float = 0.002) -> Decision:
    stage.observer.attempt_started(unit)
    made = decision(stage, unit)
    stage.time[0] += deciding
    stage.observer.decided(unit, made)
    return made


def place(stage: MeteredEngine, unit: QueuedPodInfo, deciding: float = 0.002, binding: float = 0.01) -> None:
    made = attempt(stage, unit, deciding)
    stage.time[0] += binding
    stage.observer.bound(unit, made.node_name)


def unit(stage: MeteredEngine, name: str = "p", attempts: int = 1, **spec: Any) -> QueuedPodInfo:
    stage.host.put(pod(name, **spec))
    found: QueuedPodInfo = stage.host.unit(name)
    found.attempts = attempts
    found.initial_attempt_timestamp = stage.time[0]
    return found


@pytest.fixture
def stage() -> MeteredEngine:
    made = MeteredEngine(node("n1"), node("n2"))
    made.time[0] = 1000.0
    return made


def test_a_bound_pod(stage: MeteredEngine) -> None:
    place(stage, unit(stage))
    sample = stage.sample
    by_result = {"result": "scheduled", "profile": PROFILE}
    assert sample("scheduler_schedule_attempts_total", **by_result) == 1
    assert sample("scheduler_scheduling_attempt_duration_seconds_sum", **by_result) == pytest.approx(0.012)
    assert sample("scheduler_scheduling_algorithm_duration_seconds_sum") == pytest.approx(0.002)
    assert sample("scheduler_pod_scheduling_sli_duration_seconds_sum", attempts="1") == pytest.approx(0.012)
    assert sample("scheduler_pod_scheduling_attempts_count") == 1
    assert sample("scheduler_pod_scheduled_after_flush_total") == 0


@pytest.mark.parametrize(
    ("point", "status", "seconds"),
    [
        ("PreFilter", "Success", 0.0),
        ("Filter", "Success", 0.002),
        ("PreScore", "Success", 0.0),
        ("Score", "Success", 0.0),
        ("Reserve", "Success", 0.0),
        ("Permit", "Success", 0.0),
        ("PreBindPreFlight", "Skip", 0.0),
        ("PreBind", "Success", 0.0),
        ("Bind", "Success", 0.01),
        ("PostBind", "Success", 0.0),
    ],
)
def test_the_points_of_a_bound_pod(stage: MeteredEngine, point: str, status: str, seconds: float) -> None:
    place(stage, unit(stage))
    labels = {"extension_point": point, "status": status, "profile": PROFILE}
    name = "scheduler_framework_extension_point_duration_seconds"
    assert stage.sample(f"{name}_count", **labels) == 1
    assert stage.sample(f"{name}_sum", **labels) == pytest.approx(seconds)


def test_a_single_feasible_node_is_not_scored() -> None:
    stage = MeteredEngine(node("n1"))
    place(stage, unit(stage))
    labels = {"extension_point": "Score", "status": "Success", "profile": PROFILE}
    assert stage.sample("scheduler_framework_extension_point_duration_seconds_count", **labels) is None
    flushed = {"profile": PROFILE, "reason": "empty_list"}
    assert stage.sample("scheduler_batch_cache_flushed_total", **flushed) == 1


def test_plugins_are_told_of_before_they_are_asked(stage: MeteredEngine) -> None:
    labels = {"plugin": "NodePorts", "extension_point": "Filter", "profile": PROFILE}
    assert stage.sample("scheduler_plugin_evaluation_total", **labels) == 0


def test_only_plugins_that_a_pod_concerns_are_asked(stage: MeteredEngine) -> None:
    place(stage, unit(stage))

    def asked(plugin: str, point: str) -> float | None:
        labels = {"plugin": plugin, "extension_point": point, "profile": PROFILE}
        return stage.sample("scheduler_plugin_evaluation_total", **labels)

    assert (asked("NodePorts", "PreFilter"), asked("NodePorts", "Filter")) == (1, 0)
    assert (asked("NodeResourcesFit", "Filter"), asked("NodeResourcesFit", "Score")) == (2, 2)


def test_one_cycle_in_ten_tells_of_its_plugins(stage: MeteredEngine) -> None:
    for number in range(21):
        place(stage, unit(stage, f"p{number}"))
    labels = {"plugin": "NodeResourcesFit", "extension_point": "Filter", "status": "Success"}
    assert stage.sample("scheduler_plugin_execution_duration_seconds_count", **labels) == 3


def test_an_unschedulable_pod(stage: MeteredEngine) -> None:
    found = unit(stage, requests={"cpu": 100})
    made = attempt(stage, found)
    assert not made.node_name
    stage.observer.attempt_failed(found, Status(Code.Unschedulable, made.message))
    sample = stage.sample
    assert sample("scheduler_schedule_attempts_total", result="unschedulable", profile=PROFILE) == 1
    assert sample("scheduler_preemption_attempts_total") == 1
    labels = {"extension_point": "PostFilter", "status": "Unschedulable", "profile": PROFILE}
    assert sample("scheduler_framework_extension_point_duration_seconds_count", **labels) == 1
    assert sample("scheduler_pod_scheduling_attempts_count") == 0


def test_an_error_while_deciding() -> None:
    stage = MeteredEngine()
    found = unit(stage)
    made = attempt(stage, found)
    assert made.error is not None
    stage.observer.attempt_failed(found, made.error)
    assert stage.sample("scheduler_schedule_attempts_total", result="unschedulable", profile=PROFILE) == 1


def test_an_error_while_binding(stage: MeteredEngine) -> None:
    found = unit(stage)
    attempt(stage, found)
    stage.observer.attempt_failed(found, Status(Code.Error, "conflict"))
    assert stage.sample("scheduler_schedule_attempts_total", result="error", profile=PROFILE) == 1
    labels = {"extension_point": "Filter", "status": "Success", "profile": PROFILE}
    assert stage.sample("scheduler_framework_extension_point_duration_seconds_count", **labels) == 1


@pytest.mark.parametrize(("attempts", "label"), [(3, "3"), (14, "14"), (15, "15+"), (40, "15+")])
def test_the_number_of_attempts(stage: MeteredEngine, attempts: int, label: str) -> None:
    place(stage, unit(stage, attempts=attempts))
    assert stage.sample("scheduler_pod_scheduling_sli_duration_seconds_count", attempts=label) == 1


def test_a_pod_that_was_flushed(stage: MeteredEngine) -> None:
    found = unit(stage)
    found.was_flushed = True
    place(stage, found)
    assert stage.sample("scheduler_pod_scheduled_after_flush_total") == 1


def test_arrivals_by_queue_and_event(stage: MeteredEngine) -> None:
    found = unit(stage)
    point = {"status": "Success", "profile": PROFILE}
    name = "scheduler_framework_extension_point_duration_seconds_count"
    asked = stage.sample(name, extension_point="PreEnqueue", **point) or 0
    signed = stage.sample(name, extension_point="Sign", **point) or 0
    for queue, event in (("active", "UnschedulablePodAdd"), ("active", "BackoffComplete"), ("backoff", "NodeAdd")):
        stage.observer.pod_queued(found, queue, event)
    for _ in range(2):
        assert stage.sample("scheduler_queue_incoming_pods_total", queue="backoff", event="NodeAdd") == 1
        assert stage.sample(name, extension_point="PreEnqueue", **point) == asked + 2
        assert stage.sample(name, extension_point="Sign", **point) == signed + 1


def test_what_pre_enqueue_takes_is_told_of_its_plugins_in_equal_parts(stage: MeteredEngine) -> None:
    stage.host.put(pod("p"))
    stage.observer.count()
    plugins = {plugin.name for plugin in stage.host.engine.profiles[PROFILE].pre_enqueues}
    name = "scheduler_plugin_execution_duration_seconds"
    stage.observer.pre_enqueue_ran(stage.host.unit("p").pod, None, 0.006)
    told = [labels for labels, _ in stage.samples(f"{name}_sum")]
    assert {labels["plugin"] for labels in told} == plugins
    assert {(labels["extension_point"], labels["status"]) for labels in told} == {("PreEnqueue", "Success")}
    assert sum(seconds for _, seconds in stage.samples(f"{name}_sum")) == pytest.approx(0.006)
    gate = Status(Code.UnschedulableAndUnresolvable, "gated", plugin="SchedulingGates")
    stage.observer.pre_enqueue_ran(stage.host.unit("p").pod, gate, 0.5)
    labels = {"plugin": "SchedulingGates", "extension_point": "PreEnqueue", "status": gate.code.name}
    assert stage.sample(f"{name}_sum", **labels) == 0.5


def test_one_pod_in_ten_is_timed_at_pre_enqueue_after_the_first() -> None:
    stage = MeteredEngine()
    for number in range(111):
        stage.host.put(pod(f"p{number}"))
    name = "scheduler_framework_extension_point_duration_seconds"
    labels = {"extension_point": "PreEnqueue", "status": "Success", "profile": PROFILE}
    timed = stage.observer._pre_enqueue_runs
    assert len(timed) == 102
    timed[:] = [run._replace(seconds=0.5) for run in timed]
    assert stage.sample(f"{name}_sum", **labels) == pytest.approx(111 * 0.5)


def test_one_pod_in_ten_is_timed_from_decision_to_binding(stage: MeteredEngine) -> None:
    for number in range(11):
        found = unit(stage, f"p{number}")
        made = attempt(stage, found)
        stage.time[0] += 0.004
        stage.observer.bind_started(found, made.node_name)
        stage.observer.bound(found, made.node_name)
    labels = {"plugin": "VolumeBinding", "extension_point": "Reserve", "status": "Success"}
    assert stage.sample("scheduler_plugin_execution_duration_seconds_count", **labels) == 2
    assert stage.sample("scheduler_plugin_execution_duration_seconds_sum", **labels) == pytest.approx(0.002)


def test_the_plugins_of_a_pod_that_is_held_up(stage: MeteredEngine) -> None:
    found = unit(stage)
    for point in ("Permit", "Bind", "Unreserve"):
        stage.observer.point_ran(found, point, None, 0.3)
    refused = Status(Code.Unschedulable, "full", plugin="VolumeBinding")
    stage.observer.point_ran(found, "Reserve", refused, 0.2)
    told = {
        tuple(labels.values()): seconds
        for labels, seconds in stage.samples("scheduler_plugin_execution_duration_seconds_sum")
    }
    assert told[("Bind", "DefaultBinder", "Success")] == pytest.approx(0.3)
    assert told[("Reserve", "VolumeBinding", "Unschedulable")] == pytest.approx(0.2)
    assert not any("Permit" in labels for labels in told)


def test_events_share_the_time_it_took_to_take_them_in(stage: MeteredEngine) -> None:
    stage.observer.count()
    for event in ("PodGroupAdd", "PodGroupAdd", "PodGroupDelete"):
        stage.observer.event_received(event)
    stage.observer.events_handled(0.003)
    assert stage.sample("scheduler_event_handling_duration_seconds_sum", event="PodGroupAdd") == pytest.approx(0.002)
    assert stage.sample("scheduler_event_handling_duration_seconds_count", event="PodGroupDelete") == 1


def test_rare_things(stage: MeteredEngine) -> None:
    found = unit(stage)
    stage.observer.point_ran(found, "PreBind", Status(Code.Error, "x"), 0.3)
    stage.observer.permit_wait_ended(found, None, 2.0)
    stage.observer.hint_returned("NodeName", "NodeAdd", "Queue", 0.00002, 3)
    point = {"extension_point": "PreBind", "status": "Error", "profile": PROFILE}
    assert stage.sample("scheduler_framework_extension_point_duration_seconds_sum", **point) == pytest.approx(0.3)
    assert stage.sample("scheduler_permit_wait_duration_seconds_sum", result="Success") == 2.0
    hint = {"plugin": "NodeName", "event": "NodeAdd", "hint": "Queue"}
    assert stage.sample("scheduler_queueing_hint_execution_duration_seconds_count", **hint) == 3


def test_what_plugins_measure(stage: MeteredEngine) -> None:
    labels = {"profile": PROFILE, "driver": "d", "status": "timeout"}
    stage.observer.measured("resourceclaim_creates_total", ("success",), 1.0)
    for name, value in (("allocations_total", 1.0), ("wait_duration_seconds", 600.0)):
        stage.observer.measured(f"dra_bindingconditions_{name}", tuple(labels.values()), value)
    assert stage.sample("scheduler_resourceclaim_creates_total", status="success") == 1
    assert stage.sample("scheduler_dra_bindingconditions_allocations_total", **labels) == 1
    assert stage.sample("scheduler_dra_bindingconditions_wait_duration_seconds_sum", **labels) == 600


@pytest.mark.parametrize(("failed", "result"), [(False, "success"), (True, "error")])
def test_a_preemption(stage: MeteredEngine, failed: bool, result: str) -> None:
    preemptor = unit(stage).pod
    stage.observer.preemption_started(preemptor, "n1", [preemptor, preemptor])
    stage.time[0] += 1.5
    stage.observer.preemption_ended(preemptor, "n1", failed)
    assert stage.sample("scheduler_preemption_victims_sum") == 2
    assert stage.sample("scheduler_preemption_goroutines_duration_seconds_sum", result=result) == 1.5
    assert stage.sample("scheduler_preemption_goroutines_execution_total", result=result) == 1


def test_what_was_not_opened_is_not_counted(stage: MeteredEngine) -> None:
    found = unit(stage)
    stage.observer.bound(found, "n1")
    stage.observer.attempt_failed(found, Status(Code.Error, "x"))
    assert stage.sample("scheduler_schedule_attempts_total", result="scheduled", profile=PROFILE) is None


def test_nothing_is_lost_or_doubled_while_somebody_scrapes(stage: MeteredEngine) -> None:
    found = unit(stage)
    made = decision(stage, found)
    done = threading.Event()

    def scrape() -> None:
        while not done.is_set():
            stage.metrics.registry.expose()

    thread = threading.Thread(target=scrape)
    thread.start()
    for _ in range(5000):
        stage.observer.attempt_started(found)
        stage.observer.decided(found, made)
        stage.observer.bound(found, "n1")
        stage.observer.pod_queued(found, "active", "PodGroupAdd")
    done.set()
    thread.join()
    assert stage.sample("scheduler_schedule_attempts_total", result="scheduled", profile=PROFILE) == 5000
    assert stage.sample("scheduler_queue_incoming_pods_total", queue="active", event="PodGroupAdd") == 5000


def test_endings_do_not_pile_up_where_nobody_scrapes(stage: MeteredEngine) -> None:
    found = unit(stage)
    made = decision(stage, found)
    for _ in range(3000):
        stage.observer.decided(found, made)
        stage.observer.bound(found, "n1")
    waiting = [len(each) for metrics in stage.observer._attempt_metrics.values() for each in metrics.ended.values()]
    assert sum(waiting) < 1024


def test_an_engine_that_works_tells_all_of_it() -> None:
    stage = MeteredEngine(node("n1"), node("n2"), pod("p"), pod("big", requests={"cpu": 100}))
    stage.host.schedule()
    assert stage.sample("scheduler_schedule_attempts_total", result="scheduled", profile=PROFILE) == 1
    assert stage.sample("scheduler_schedule_attempts_total", result="unschedulable", profile=PROFILE) == 1
    assert stage.sample("scheduler_pending_pods", queue="unschedulable") == 1


def test_expensive_attempts_and_the_pods_that_wait_for_them() -> None:
    stage = MeteredEngine(node("n1"), max_namespace_share=0.2)
    stage.host.put(pod("h1"), pod("h2"), pod("o", namespace="other"))
    for seconds in (10.0, 0.01):
        assert stage.host.engine.schedule_one()
        stage.host.engine.charge(seconds)
    assert not stage.host.engine.schedule_one()
    assert stage.sample("stowplan_expensive_attempts_total", profile=PROFILE) == 1
    assert stage.sample("stowplan_expensive_attempts_seconds_total", profile=PROFILE) == 10.0
    assert stage.sample("stowplan_throttled_pods") == 1
    assert stage.sample("scheduler_pending_pods", queue="backoff") == 1
    assert stage.sample("scheduler_queue_incoming_pods_total", queue="backoff", event="NamespaceThrottled") == 1
