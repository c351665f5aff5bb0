"""What there is in the cluster, and every change from then on, told to a sink.

Belongs here: lists in pages, watches, resuming and starting over, and the decoding of what they bring.
Does not belong here: what is made of the objects.
May import: `client`, `paths`, `errors` of `cluster`; `api`.
"""

from stowplan.cluster.feed.feed import UNFINISHED_PODS, Feed, Sink
from stowplan.cluster.feed.frames import Item

__all__ = ["UNFINISHED_PODS", "Feed", "Item", "Sink"]
