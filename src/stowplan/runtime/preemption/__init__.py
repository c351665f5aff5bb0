"""The preemption search: which pods would have to go so that a pod of higher priority fits.

`victims` says who is more important and whom disruption budgets protect, `dry_run` finds the victims of one node,
`choice` picks among candidate nodes, `search` puts them together for a pod.
"""

from stowplan.runtime.preemption.dry_run import Candidate
from stowplan.runtime.preemption.search import Preemption, eligibility, search

__all__ = ["Candidate", "Preemption", "eligibility", "search"]
