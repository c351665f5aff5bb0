"""The scheduling queue: who is tried next, who waits, and for what.

Belongs here: the active queue, the two backoff heaps, the pool of unschedulable and gated pods, the record of what
happened while pods are in flight, cluster events and who is woken by them, nominated pods. Takes a clock, asks plugins
through functions that it is given, and never waits. Does not belong here: deciding where a pod goes, threads, timers,
I/O. May import `framework` and `api`.
"""

from stowplan.queue.heap import sort_key_of
from stowplan.queue.nominator import Nominator
from stowplan.queue.queueing_hints import HintTable, QueueingStrategy
from stowplan.queue.scheduling_queue import SchedulingQueue

__all__ = [
    "HintTable",
    "Nominator",
    "QueueingStrategy",
    "SchedulingQueue",
    "sort_key_of",
]
