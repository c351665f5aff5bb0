"""What a cluster holds, kept in a cache so that requests can name nodes instead of carrying them.

Belongs here: the feeds of nodes, pods and whatever else plugins look up, and how their news get into a `cache.Cluster`.
Does not belong here: lists and watches themselves (`cluster.feed`), and what is made of the cache.
May import: `cluster`, `cache`, `runtime`, `framework`, `api` and `holding`.
"""

from stowplan.extender.informer_cache.informer_cache import InformerCache
from stowplan.extender.informer_cache.reflectors import InformerReflectors

__all__ = ["InformerCache", "InformerReflectors"]
