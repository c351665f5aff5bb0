"""Which cluster, and who we are to it: kubeconfig files, and what a pod is given instead of them.

Belongs here: finding, reading and merging the files, and the ways to log in that they name.
Does not belong here: the network. What comes out is a `Connection`.
May import: `connection`, `tls`, `material`, `errors` of `cluster`; `config`, `api`, `errors`.
"""

from stowplan.cluster.kubeconfig.in_cluster import in_cluster
from stowplan.cluster.kubeconfig.load import context_names, load_connection

__all__ = ["context_names", "in_cluster", "load_connection"]
