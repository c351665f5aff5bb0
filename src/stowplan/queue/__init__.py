"""The scheduling queue: which pod is tried next, which pods wait, and which events wake them.

Belongs here: the active queue, the backoff queue, unschedulable and gated pods, events recorded while pods are in
flight, cluster events and queueing hints, nominated pods, the time limit of namespaces. The clock and the calls of
plugins are injected; no method blocks. Does not belong here: decisions, threads, timers, I/O. May import `framework`,
`logs` and `api`.
"""

from stowplan.queue.namespace_throttle import CHARGED_ATTEMPT_SECONDS, EXPENSIVE_ATTEMPT_SECONDS
from stowplan.queue.nominator import Nominator
from stowplan.queue.pod_group_queue import GANG_PLUGIN, GroupKey, PodGroupQueue, group_key
from stowplan.queue.queueing_hints import QueueingHintMap, QueueingStrategy
from stowplan.queue.refused_batch import RefusedBatch
from stowplan.queue.scheduling_queue import SchedulingQueue

__all__ = [
    "CHARGED_ATTEMPT_SECONDS",
    "EXPENSIVE_ATTEMPT_SECONDS",
    "GANG_PLUGIN",
    "GroupKey",
    "Nominator",
    "PodGroupQueue",
    "QueueingHintMap",
    "QueueingStrategy",
    "RefusedBatch",
    "SchedulingQueue",
    "group_key",
]
