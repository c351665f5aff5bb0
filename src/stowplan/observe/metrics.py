"""Definitions of kube-scheduler's metrics: names, labels, buckets and help texts as in v1.36.

Upstream: pkg/scheduler/metrics/metrics.go, pkg/scheduler/framework/plugins/volumebinding/metrics/metrics.go
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from stowplan.observe.registry import ALPHA, BETA, STABLE, MetricRegistry
from stowplan.observe.series import Reading, exponential

_ATTEMPT_SECONDS = exponential(0.001, 2, 15)
_LONG_SECONDS = exponential(0.01, 2, 20)
_POINT_SECONDS = exponential(0.0001, 2, 12)
_PLUGIN_SECONDS = exponential(0.00001, 1.5, 20)
_BATCH_SECONDS = exponential(0.00001, 2, 12)
_DEVICE_WAIT_SECONDS = exponential(0.1, 2, 14)


def _empty() -> Mapping[str, int]:
    return {}


@dataclass
class GaugeSources:
    """Functions that gauges read at each scrape. They run on the scraping thread and must not wait for the loop."""

    pending_pods: Callable[[], Mapping[str, int]] = _empty
    """Pods by queue: active, backoff, unschedulable, gated."""
    throttled_pods: Callable[[], int] = lambda: 0
    """Pods that wait because their namespace has used up its share; they count as backing off in `pending_pods`."""
    cache_size: Callable[[], Mapping[str, int]] = _empty
    """Numbers of nodes, pods and assumed_pods."""
    unschedulable_pods: Callable[[], Reading] = dict
    """Pods by (rejecting plugin, profile)."""
    inflight_events: Callable[[], Mapping[str, int]] = _empty
    """Events kept for pods in flight, by label; the pods themselves as PodPopped."""
    goroutines: Callable[[], Mapping[str, int]] = _empty
    """Operations under way besides the scheduling cycle."""


class GroupMetrics:
    """Metrics of pod groups."""

    def __init__(self, registry: MetricRegistry) -> None:
        by_result = ("result", "profile")
        self.attempts = registry.counter(
            "scheduler_podgroup_schedule_attempts_total",
            ALPHA,
            "Number of attempts to schedule pod group, by the result. 'unschedulable' means a pod group could not be "
            "scheduled, while 'error' means an internal scheduler problem.",
            by_result,
        )
        self.attempt_duration = registry.histogram(
            "scheduler_podgroup_scheduling_attempt_duration_seconds",
            ALPHA,
            "Pod group scheduling attempt latency in seconds (scheduling algorithm + binding)",
            _ATTEMPT_SECONDS,
            by_result,
        )
        self.algorithm_duration = registry.histogram(
            "scheduler_podgroup_scheduling_algorithm_duration_seconds",
            ALPHA,
            "Pod group scheduling algorithm latency in seconds",
            _ATTEMPT_SECONDS,
        )


class SchedulerMetrics:
    """One attribute per metric. `gauges` is replaced once there is an engine."""

    def __init__(self, registry: MetricRegistry, *, groups: bool = False) -> None:
        """`groups`: whether the feature gate GenericWorkload is on."""
        self.registry = registry
        self.gauges = GaugeSources()
        self._add_attempts()
        self._add_points()
        self._add_queue()
        self._add_expensive_attempts()
        self._add_preemption()
        self._add_batches()
        self._add_devices_and_volumes()
        self.groups = GroupMetrics(registry) if groups else None

    def _add_attempts(self) -> None:
        counter, histogram = self.registry.counter, self.registry.histogram
        by_result = ("result", "profile")
        self.attempts = counter(
            "scheduler_schedule_attempts_total",
            STABLE,
            "Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be scheduled, "
            "while 'error' means an internal scheduler problem.",
            by_result,
        )
        self.attempt_duration = histogram(
            "scheduler_scheduling_attempt_duration_seconds",
            STABLE,
            "Scheduling attempt latency in seconds (scheduling algorithm + binding)",
            _ATTEMPT_SECONDS,
            by_result,
        )
        self.algorithm_duration = histogram(
            "scheduler_scheduling_algorithm_duration_seconds",
            ALPHA,
            "Scheduling algorithm latency in seconds",
            _ATTEMPT_SECONDS,
        )
        self.sli_duration = histogram(
            "scheduler_pod_scheduling_sli_duration_seconds",
            BETA,
            "E2e latency for a pod being scheduled, from the time the pod enters the scheduling queue and might "
            "involve multiple scheduling attempts.",
            _LONG_SECONDS,
            ("attempts",),
        )
        self.pod_attempts = histogram(
            "scheduler_pod_scheduling_attempts",
            STABLE,
            "Number of attempts to successfully schedule a pod.",
            exponential(1, 2, 5),
        )
        self.after_flush = counter(
            "scheduler_pod_scheduled_after_flush_total",
            ALPHA,
            "Number of pods that were successfully scheduled after being flushed from unschedulablePods due to "
            "timeout. This metric helps detect potential queueing hint misconfigurations or event handling issues.",
        )

    def _add_points(self) -> None:
        counter, histogram = self.registry.counter, self.registry.histogram
        self.point_duration = histogram(
            "scheduler_framework_extension_point_duration_seconds",
            STABLE,
            "Latency for running all plugins of a specific extension point.",
            _POINT_SECONDS,
            ("extension_point", "status", "profile"),
        )
        self.plugin_duration = histogram(
            "scheduler_plugin_execution_duration_seconds",
            ALPHA,
            "Duration for running a plugin at a specific extension point.",
            _PLUGIN_SECONDS,
            ("plugin", "extension_point", "status"),
        )
        self.evaluations = counter(
            "scheduler_plugin_evaluation_total",
            BETA,
            "Number of attempts to schedule pods by each plugin and the extension point (available only in PreFilter, "
            "Filter, PreScore, and Score).",
            ("plugin", "extension_point", "profile"),
        )
        self.permit_wait = histogram(
            "scheduler_permit_wait_duration_seconds",
            BETA,
            "Duration of waiting on permit.",
            _ATTEMPT_SECONDS,
            ("result",),
        )

    def _add_queue(self) -> None:
        counter, gauge, histogram = self.registry.counter, self.registry.gauge, self.registry.histogram
        self.incoming = counter(
            "scheduler_queue_incoming_pods_total",
            STABLE,
            "Number of pods added to scheduling queues by event and queue type.",
            ("queue", "event"),
        )
        self.event_duration = histogram(
            "scheduler_event_handling_duration_seconds",
            ALPHA,
            "Event handling latency in seconds.",
            _POINT_SECONDS,
            ("event",),
        )
        self.hint_duration = histogram(
            "scheduler_queueing_hint_execution_duration_seconds",
            ALPHA,
            "Duration for running a queueing hint function of a plugin.",
            _PLUGIN_SECONDS,
            ("plugin", "event", "hint"),
        )
        gauge(
            "scheduler_pending_pods",
            STABLE,
            "Number of pending pods, by the queue type. 'active' means number of pods in activeQ; 'backoff' means "
            "number of pods in backoffQ; 'unschedulable' means number of pods in unschedulablePods that the scheduler "
            "attempted to schedule and failed; 'gated' is the number of unschedulable pods that the scheduler never "
            "attempted to schedule because they are gated.",
            ("queue",),
            lambda: _by_label(self.gauges.pending_pods()),
        )
        gauge(
            "scheduler_unschedulable_pods",
            BETA,
            "The number of unschedulable pods broken down by plugin name. A pod will increment the gauge for all "
            "plugins that caused it to not schedule and so this metric have meaning only when broken down by plugin.",
            ("plugin", "profile"),
            lambda: self.gauges.unschedulable_pods(),
        )
        gauge(
            "scheduler_cache_size",
            ALPHA,
            "Number of nodes, pods, and assumed (bound) pods in the scheduler cache.",
            ("type",),
            lambda: _by_label(self.gauges.cache_size()),
        )
        gauge(
            "scheduler_inflight_events",
            ALPHA,
            "Number of events currently tracked in the scheduling queue.",
            ("event",),
            lambda: _by_label(self.gauges.inflight_events()),
        )
        gauge(
            "scheduler_goroutines",
            BETA,
            "Number of running goroutines split by the work they do such as binding.",
            ("operation",),
            lambda: _by_label(self.gauges.goroutines()),
        )

    def _add_expensive_attempts(self) -> None:
        """Metrics that kube-scheduler does not have."""
        counter, gauge, by_profile = self.registry.counter, self.registry.gauge, ("profile",)
        self.expensive_attempts = counter(
            "stowplan_expensive_attempts_total",
            ALPHA,
            "Number of scheduling attempts that held the scheduling loop for 20 ms or more.",
            by_profile,
        )
        self.expensive_seconds = counter(
            "stowplan_expensive_attempts_seconds_total",
            ALPHA,
            "Time of scheduling attempts that held the scheduling loop for 20 ms or more, in seconds.",
            by_profile,
        )
        gauge(
            "stowplan_throttled_pods",
            ALPHA,
            "Number of pods that wait because expensive pods of their namespace have used up its share of the "
            "scheduling loop's time.",
            (),
            lambda: {(): self.gauges.throttled_pods()},
        )

    def _add_preemption(self) -> None:
        counter, histogram = self.registry.counter, self.registry.histogram
        self.victims = histogram(
            "scheduler_preemption_victims", STABLE, "Number of selected preemption victims", exponential(1, 2, 7)
        )
        self.preemption_attempts = counter(
            "scheduler_preemption_attempts_total", STABLE, "Total preemption attempts in the cluster till now"
        )
        self.preemption_duration = histogram(
            "scheduler_preemption_goroutines_duration_seconds",
            ALPHA,
            "Duration in seconds for running goroutines for the preemption.",
            _LONG_SECONDS,
            ("result",),
        )
        self.preemptions = counter(
            "scheduler_preemption_goroutines_execution_total",
            ALPHA,
            "Number of preemption goroutines executed.",
            ("result",),
        )

    def _add_batches(self) -> None:
        """Metrics of opportunistic batching. Pods are not placed in batches here, so every cycle counts as no_hint."""
        counter, histogram = self.registry.counter, self.registry.histogram
        self.batch_attempts = counter(
            "scheduler_batch_attempts_total",
            ALPHA,
            "Counts of results when we attempt to use batching.",
            ("profile", "result"),
        )
        self.batch_flushes = counter(
            "scheduler_batch_cache_flushed_total", ALPHA, "Counts of cache flushes by reason.", ("profile", "reason")
        )
        self.hint_lookup = histogram(
            "scheduler_get_node_hint_duration_seconds",
            ALPHA,
            "Latency for getting a node hint.",
            _BATCH_SECONDS,
            ("hinted", "profile"),
        )
        self.hint_storage = histogram(
            "scheduler_store_schedule_results_duration_seconds",
            ALPHA,
            "Latency for getting a no.",
            _BATCH_SECONDS,
            ("profile",),
        )

    def _add_devices_and_volumes(self) -> None:
        counter, histogram = self.registry.counter, self.registry.histogram
        self.claims_created = counter(
            "scheduler_resourceclaim_creates_total",
            ALPHA,
            "Number of ResourceClaims creation requests within scheduler",
            ("status",),
        )
        labels = ("profile", "driver", "status")
        self.device_allocations = counter(
            "scheduler_dra_bindingconditions_allocations_total",
            ALPHA,
            "Number of allocations using devices with BindingConditions, counted per driver per scheduling attempt",
            labels,
        )
        self.device_wait = histogram(
            "scheduler_dra_bindingconditions_wait_duration_seconds",
            ALPHA,
            "Time in seconds spent waiting for BindingConditions to be satisfied during PreBind.",
            _DEVICE_WAIT_SECONDS,
            labels,
        )
        self.of_plugins: dict[str, Callable[..., Callable[[float], None]]] = {
            "resourceclaim_creates_total": lambda *labels: self.claims_created.series(*labels).add,
            "dra_bindingconditions_allocations_total": lambda *labels: self.device_allocations.series(*labels).add,
            "dra_bindingconditions_wait_duration_seconds": lambda *labels: self.device_wait.series(*labels).observe,
        }
        """Metrics that plugins feed: by name, a function from label values to the one that takes a value."""
        self.volume_requests = counter(
            "scheduler_volume_binder_cache_requests_total",
            ALPHA,
            "Total number for request volume binding cache",
            ("operation",),
        )
        self.volume_errors = counter(
            "scheduler_volume_scheduling_stage_error_total",
            ALPHA,
            "Volume scheduling stage error count",
            ("operation",),
        )


def _by_label(counts: Mapping[str, int]) -> Reading:
    return {(label,): count for label, count in counts.items()}
