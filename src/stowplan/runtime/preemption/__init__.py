"""The preemption search: which pods would have to go so that a pod of higher priority fits.

`victims` says who is more important and whom disruption budgets protect, `dry_run` finds the victims of one node by
asking the filters, `choice` picks among candidate nodes, `search` puts them together for a pod. Where all that matters
is room, `walk` need not ask the filters: `roster` keeps the potential victims of all nodes as numbers, `arithmetic`
finds who has to go, `clearings` keeps that, `room` sees to what else a pod depends on. May import what the runtime may;
of the runtime itself, what runs filters and supposes.
"""

from stowplan.runtime.preemption.dry_run import PreemptionCandidate
from stowplan.runtime.preemption.search import Preemption, eligibility, search

__all__ = ["Preemption", "PreemptionCandidate", "eligibility", "search"]
