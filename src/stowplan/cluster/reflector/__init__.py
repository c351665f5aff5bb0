"""What there is in the cluster, and every change from then on, told to a sink.

Belongs here: lists in pages, watches, resuming and starting over, and the decoding of what they bring.
Does not belong here: what is made of the objects.
May import: `client`, `paths`, `errors` of `cluster`; `api`.
"""

from stowplan.cluster.reflector.reflector import UNFINISHED_PODS, EventSink, Reflector
from stowplan.cluster.reflector.watch_frames import Item
from stowplan.cluster.reflector.watched_kinds import REQUIRED_KINDS, watched_kinds

__all__ = ["REQUIRED_KINDS", "UNFINISHED_PODS", "EventSink", "Item", "Reflector", "watched_kinds"]
