"""kube-scheduler's metrics: the names, labels and buckets that dashboards and alerts know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from stowplan.observe.registry import ALPHA, BETA, STABLE, MetricRegistry
from stowplan.observe.series import Reading, exponential

_ATTEMPT = exponential(0.001, 2, 15)
_LONG = exponential(0.01, 2, 20)
_POINT = exponential(0.0001, 2, 12)
_PLUGIN = exponential(0.00001, 1.5, 20)
_BATCH = exponential(0.00001, 2, 12)
_DEVICES = exponential(0.1, 2, 14)


def _nothing() -> Mapping[str, int]:
    return {}


@dataclass
class GaugeSources:
    """What is looked up at each scrape. The thread that scrapes calls these, so they must not wait for the loop."""

    pending_pods: Callable[[], Mapping[str, int]] = _nothing
    """Pods by queue: active, backoff, unschedulable, gated."""
    cache_size: Callable[[], Mapping[str, int]] = _nothing
    """How many nodes, pods and assumed_pods."""
    unschedulable_pods: Callable[[], Reading] = dict
    """Pods by (plugin that rejected them, profile)."""
    inflight_events: Callable[[], Mapping[str, int]] = _nothing
    """Events kept for pods in flight, by label; those pods themselves as PodPopped."""
    goroutines: Callable[[], Mapping[str, int]] = _nothing
    """What goes on besides the scheduling cycle, by operation."""


class SchedulerMetrics:
    """One attribute a metric. `readings` is to be replaced when there is something to read."""

    def __init__(self, registry: MetricRegistry) -> None:
        self.registry = registry
        self.readings = GaugeSources()
        self._add_attempts()
        self._add_points()
        self._add_queue()
        self._add_preemption()
        self._add_batches()
        self._add_devices_and_volumes()

    def _add_attempts(self) -> None:
        counter, histogram = self.registry.counter, self.registry.histogram
        by_result = ("result", "profile")
        text = "Attempts to schedule pods, by result: scheduled, unschedulable, or error where something went wrong."
        self.attempts = counter("scheduler_schedule_attempts_total", STABLE, text, by_result)
        text = "Time from the begin of an attempt to its end, the binding included, in seconds."
        name = "scheduler_scheduling_attempt_duration_seconds"
        self.attempt_duration = histogram(name, STABLE, text, _ATTEMPT, by_result)
        text = "Time it took to decide, in seconds."
        self.algorithm_duration = histogram("scheduler_scheduling_algorithm_duration_seconds", ALPHA, text, _ATTEMPT)
        text = "Time from when a pod was first ready to be tried until it was bound, in seconds, by attempts."
        self.sli_duration = histogram("scheduler_pod_scheduling_sli_duration_seconds", BETA, text, _LONG, ("attempts",))
        text = "Attempts that it took to bind a pod."
        self.pod_attempts = histogram("scheduler_pod_scheduling_attempts", STABLE, text, exponential(1, 2, 5))
        text = "Pods bound after they were tried again for no other reason than the time that had passed."
        self.after_flush = counter("scheduler_pod_scheduled_after_flush_total", ALPHA, text)

    def _add_points(self) -> None:
        counter, histogram = self.registry.counter, self.registry.histogram
        text = "Time that all plugins of an extension point took together, in seconds."
        name, labels = "scheduler_framework_extension_point_duration_seconds", ("extension_point", "status", "profile")
        self.point_duration = histogram(name, STABLE, text, _POINT, labels)
        text = "Time that one plugin took at an extension point, in seconds, of some cycles."
        name, labels = "scheduler_plugin_execution_duration_seconds", ("plugin", "extension_point", "status")
        self.plugin_duration = histogram(name, ALPHA, text, _PLUGIN, labels)
        text = "How often plugins were asked, at PreFilter, Filter, PreScore and Score."
        labels = ("plugin", "extension_point", "profile")
        self.evaluations = counter("scheduler_plugin_evaluation_total", BETA, text, labels)
        text = "Time that pods waited at Permit, in seconds."
        self.permit_wait = histogram("scheduler_permit_wait_duration_seconds", BETA, text, _ATTEMPT, ("result",))

    def _add_queue(self) -> None:
        counter, gauge, histogram = self.registry.counter, self.registry.gauge, self.registry.histogram
        text = "Pods that came into a queue, by queue and by the event that brought them."
        self.incoming = counter("scheduler_queue_incoming_pods_total", STABLE, text, ("queue", "event"))
        text = "Time it took to take in an event, in seconds."
        name = "scheduler_event_handling_duration_seconds"
        self.event_duration = histogram(name, ALPHA, text, _POINT, ("event",))
        text = "Time that a plugin took to say whether an event is worth another attempt, in seconds."
        name, labels = "scheduler_queueing_hint_execution_duration_seconds", ("plugin", "event", "hint")
        self.hint_duration = histogram(name, ALPHA, text, _PLUGIN, labels)
        text = "Pending pods by queue."
        gauge("scheduler_pending_pods", STABLE, text, ("queue",), lambda: _one(self.readings.pending_pods()))
        text = "Unschedulable pods by the plugins that rejected them; a pod counts for each of those."
        by_plugin = ("plugin", "profile")
        gauge("scheduler_unschedulable_pods", BETA, text, by_plugin, lambda: self.readings.unschedulable_pods())
        text = "Nodes, pods and assumed pods that are known."
        gauge("scheduler_cache_size", ALPHA, text, ("type",), lambda: _one(self.readings.cache_size()))
        text = "Events that are kept for the pods in flight."
        gauge("scheduler_inflight_events", ALPHA, text, ("event",), lambda: _one(self.readings.inflight_events()))
        text = "Work under way besides the scheduling cycle, by operation."
        gauge("scheduler_goroutines", BETA, text, ("operation",), lambda: _one(self.readings.goroutines()))

    def _add_preemption(self) -> None:
        counter, histogram = self.registry.counter, self.registry.histogram
        text = "Victims of a preemption."
        self.victims = histogram("scheduler_preemption_victims", STABLE, text, exponential(1, 2, 7))
        text = "How often it was looked into whether evicting pods would help."
        self.preemption_attempts = counter("scheduler_preemption_attempts_total", STABLE, text)
        text = "Time from the begin of a preemption until its last victim was told to go, in seconds."
        name = "scheduler_preemption_goroutines_duration_seconds"
        self.preemption_duration = histogram(name, ALPHA, text, _LONG, ("result",))
        text = "Preemptions carried out."
        self.preemptions = counter("scheduler_preemption_goroutines_execution_total", ALPHA, text, ("result",))

    def _add_batches(self) -> None:
        """Pods are never placed in batches here, so what is told is how often that was the case."""
        counter, histogram = self.registry.counter, self.registry.histogram
        text = "Cycles by whether they began with a hint from the one before."
        self.batch_attempts = counter("scheduler_batch_attempts_total", ALPHA, text, ("profile", "result"))
        text = "Cycles that left no hint for the next one, by reason."
        self.batch_flushes = counter("scheduler_batch_cache_flushed_total", ALPHA, text, ("profile", "reason"))
        text = "Time it took to find a hint, in seconds."
        name = "scheduler_get_node_hint_duration_seconds"
        self.hint_lookup = histogram(name, ALPHA, text, _BATCH, ("hinted", "profile"))
        text = "Time it took to leave a hint, in seconds."
        name = "scheduler_store_schedule_results_duration_seconds"
        self.hint_storage = histogram(name, ALPHA, text, _BATCH, ("profile",))

    def _add_devices_and_volumes(self) -> None:
        counter, histogram = self.registry.counter, self.registry.histogram
        text = "ResourceClaims created for extended resources."
        self.claims_created = counter("scheduler_resourceclaim_creates_total", ALPHA, text, ("status",))
        labels = ("profile", "driver", "status")
        text = "Allocations of devices that have binding conditions."
        self.device_allocations = counter("scheduler_dra_bindingconditions_allocations_total", ALPHA, text, labels)
        text = "Time that pods waited for binding conditions of devices, in seconds."
        name = "scheduler_dra_bindingconditions_wait_duration_seconds"
        self.device_wait = histogram(name, ALPHA, text, _DEVICES, labels)
        self.of_plugins: dict[str, Callable[..., Callable[[float], None]]] = {
            "resourceclaim_creates_total": lambda *labels: self.claims_created.series(*labels).add,
            "dra_bindingconditions_allocations_total": lambda *labels: self.device_allocations.series(*labels).add,
            "dra_bindingconditions_wait_duration_seconds": lambda *labels: self.device_wait.series(*labels).observe,
        }
        """What plugins tell of: by name, what takes a value for the values of the labels."""
        text = "Requests to the memory of volume bindings."
        self.volume_requests = counter("scheduler_volume_binder_cache_requests_total", ALPHA, text, ("operation",))
        text = "Volume bindings that failed, by stage."
        name = "scheduler_volume_scheduling_stage_error_total"
        self.volume_errors = counter(name, ALPHA, text, ("operation",))


def _one(counts: Mapping[str, int]) -> Reading:
    return {(label,): count for label, count in counts.items()}
