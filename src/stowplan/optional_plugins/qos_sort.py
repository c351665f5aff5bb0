"""QOSSort: orders the queue by priority, then by quality-of-service class.

Upstream: sigs.k8s.io/scheduler-plugins/pkg/qos/queue_sort.go
"""

from __future__ import annotations

from stowplan import framework as fwk
from stowplan.optional_plugins.base.qos_class import qos_class
from stowplan.plugins.base import InTreePlugin


class QOSSort(InTreePlugin):
    """Higher priority first; then Guaranteed, Burstable, BestEffort; then the pod that entered the queue first."""

    name = "QOSSort"
    reads_template_and_timestamp_only = True

    def less(self, a: fwk.QueuedPodInfo, b: fwk.QueuedPodInfo) -> bool:
        return self.sort_key(a) < self.sort_key(b)

    def sort_key(self, item: fwk.QueuedPodInfo) -> tuple[int, int, float]:
        template = item.pod.template
        return -template.priority, -qos_class(template), item.timestamp
