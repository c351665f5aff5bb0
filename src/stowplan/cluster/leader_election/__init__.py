"""Which one of several schedulers is active: leader election by a Lease, as client-go's.

Belongs here: the rules, their course over time, the lease at the API server, the thread on which all this happens.
Does not belong here: what a leader does, and what becomes of one that is no longer.
May import: `client`, `connection`, `paths`, `errors` of `cluster`; `config`, `api`, `errors`.
"""

from stowplan.cluster.leader_election.elector_thread import ElectorThread, make_identity

__all__ = ["ElectorThread", "make_identity"]
