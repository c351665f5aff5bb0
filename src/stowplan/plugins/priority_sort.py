"""PrioritySort: orders the queue.

Upstream: pkg/scheduler/framework/plugins/queuesort/priority_sort.go
"""

from __future__ import annotations

from stowplan import framework as fwk
from stowplan.plugins.base import InTreePlugin


class PrioritySort(InTreePlugin):
    """Higher priority first; with equal priority, the pod that entered the queue first."""

    name = "PrioritySort"
    reads_template_and_timestamp_only = True

    def less(self, a: fwk.QueuedPodInfo, b: fwk.QueuedPodInfo) -> bool:
        mine, other = a.pod.priority, b.pod.priority
        return mine > other or (mine == other and a.timestamp < b.timestamp)

    def sort_key(self, item: fwk.QueuedPodInfo) -> tuple[int, float]:
        return -item.pod.template.priority, item.timestamp
