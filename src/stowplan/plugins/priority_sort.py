"""PrioritySort: the order of the queue."""

from __future__ import annotations

from stowplan import framework as fwk
from stowplan.plugins.base import InTreePlugin


class PrioritySort(InTreePlugin):
    """Higher priority first; among equals, whoever entered the queue earlier."""

    name = "PrioritySort"

    def less(self, a: fwk.QueuedPodInfo, b: fwk.QueuedPodInfo) -> bool:
        mine, other = a.pod.priority, b.pod.priority
        return mine > other or (mine == other and a.timestamp < b.timestamp)

    def sort_key(self, item: fwk.QueuedPodInfo) -> tuple[int, float]:
        return -item.pod.template.priority, item.timestamp
