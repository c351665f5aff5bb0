"""The informer cache: requests can name nodes instead of carrying them.

Belongs here: the reflectors of nodes, pods and the kinds that plugins read, and how their events change a
`cache.Cluster`. Does not belong here: list and watch (`cluster.reflector`), and the readers of the cache.
May import: `cluster`, `cache`, `runtime`, `framework`, `api` and `extender.reservations`.

Upstream: k8s.io/client-go/tools/cache
"""

from stowplan.extender.informer_cache.informer_cache import InformerCache
from stowplan.extender.informer_cache.reflectors import InformerReflectors

__all__ = ["InformerCache", "InformerReflectors"]
