"""Sources of gauges: reads the engine's state from the scraping thread.

Upstream: pkg/scheduler/metrics/metric_recorder.go (PendingPodsRecorder)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from stowplan.engine import Engine
from stowplan.observe.metrics import GaugeSources
from stowplan.observe.series import Reading

T = TypeVar("T")

_MAX_READ_ATTEMPTS = 5

_ON_ONE_THREAD = dict.fromkeys(("Filter", "Score", "InterPodAffinity", "PodTopologySpread"), 0)
"""Steps of the cycle that kube-scheduler runs in goroutines; here they run on the loop's thread."""


class RetriedRead(Generic[T]):
    """Calls `read`, retrying when a container changes during iteration.

    Returns the last good value after five failures.
    """

    def __init__(self, read: Callable[[], T], at_first: T) -> None:
        self._read = read
        self._last = at_first

    def __call__(self) -> T:
        for _ in range(_MAX_READ_ATTEMPTS):
            try:
                self._last = self._read()
                break
            except RuntimeError:  # A dict or deque changed size during iteration.
                continue
        return self._last


def gauge_sources(engine: Engine) -> GaugeSources:
    cluster = engine.cluster

    def rejected() -> Reading:
        """Pods count from the attempt that rejected them until the next one, in every queue."""
        return Counter[tuple[str, ...]](
            (plugin, queued.pod.template.spec.scheduler_name)
            for queued in engine.queued_pods("unschedulable", "gated", "backoff", "throttled", "active")
            for plugin in (*queued.unschedulable_plugins, *queued.pending_plugins)
        )

    return GaugeSources(
        throttled_pods=RetriedRead[int](lambda: sum(1 for _ in engine.queued_pods("throttled")), 0),
        pending_pods=RetriedRead[Mapping[str, int]](engine.queue_counts, {}),
        cache_size=lambda: {
            "nodes": len(cluster.nodes),
            "pods": len(cluster.pods),
            "assumed_pods": len(cluster.assumed),
        },
        unschedulable_pods=RetriedRead[Reading](rejected, {}),
        inflight_events=lambda: {"PodPopped": len(list(engine.in_flight))},
        goroutines=lambda: {
            **_ON_ONE_THREAD,
            "binding": len(engine.attempts),
            "DefaultPreemption": len(engine.preemptors),
        },
    )
