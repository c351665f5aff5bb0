"""What a cluster holds, kept in a cache so that requests can name nodes instead of carrying them.

Belongs here: the feeds of nodes, pods and whatever else plugins look up, and how their news get into a `cache.Cluster`.
Does not belong here: lists and watches themselves (`cluster.feed`), and what is made of the cache.
May import: `cluster`, `cache`, `runtime`, `framework`, `api` and `holding`.
"""

from stowplan.extender.mirror.feeding import MirrorFeeds
from stowplan.extender.mirror.mirror import Mirror

__all__ = ["Mirror", "MirrorFeeds"]
