"""Kubeconfig files and in-cluster configuration.

Belongs here: finding, reading and merging files, and the credentials that they describe.
Does not belong here: network access. The result is a `Connection`.
May import: `connection`, `tls`, `credential_source`, `errors` of `cluster`; `config`, `api`, `errors`.

Upstream: k8s.io/client-go/tools/clientcmd
"""

from stowplan.cluster.kubeconfig.in_cluster import in_cluster
from stowplan.cluster.kubeconfig.load import context_names, load_connection

__all__ = ["context_names", "in_cluster", "load_connection"]
