"""The preemption search: the pods that have to be evicted so that a pod of higher priority fits.

Belongs here: eligibility, dry runs of evictions, the choice of a candidate. `dry_run` defines the victims of one node
by running the filters; `demands`, `dry_run_many`, `victim_table` and `kept_dry_runs` compute the same for many nodes if
all filters that read pods come down to free amounts.
Does not belong here: evicting pods (`engine`), the plugin DefaultPreemption (`plugins`).
May import: `runtime.decide`'s filtering and what-ifs, `runtime.points`, `runtime.out_of_tree`, rooms below `runtime`.

Upstream: pkg/scheduler/framework/preemption/preemption.go, pkg/scheduler/framework/plugins/defaultpreemption
"""

from stowplan.runtime.preemption.dry_run import PreemptionCandidate
from stowplan.runtime.preemption.search import Preemption, eligibility, search

__all__ = ["Preemption", "PreemptionCandidate", "eligibility", "search"]
