"""Leader election with a Lease.

Belongs here: the rules, the elector that acquires and renews, the Lease at the API server, and the elector's thread.
Does not belong here: the actions of a leader, and of a process that lost the lease.
May import: `client`, `connection`, `wire`, `retry`, `errors` of `cluster`; `config`, `api`, `logs`, `errors`.

Upstream: k8s.io/client-go/tools/leaderelection
"""

from stowplan.cluster.leader_election.elector_thread import ElectorThread, make_identity

__all__ = ["ElectorThread", "make_identity"]
