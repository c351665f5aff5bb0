"""PrioritySort: the order of the queue."""

from __future__ import annotations

from stowplan.framework import QueuedPodInfo
from stowplan.plugins.base import InTreePlugin


class PrioritySort(InTreePlugin):
    """Higher priority first; among equals, whoever entered the queue earlier."""

    name = "PrioritySort"

    def less(self, a: QueuedPodInfo, b: QueuedPodInfo) -> bool:
        mine, other = a.pod.priority, b.pod.priority
        return mine > other or (mine == other and a.timestamp < b.timestamp)

    def sort_key(self, item: QueuedPodInfo) -> tuple[int, float]:
        return -item.pod.template.priority, item.timestamp
