"""Sweeps: many runs over parameters and seeds, in parallel and resumable.

Belongs here: Study documents (`document`), paths into documents (`paths`), single runs and their files (`run_task`),
the loop over an executor (`sweep`), executors (`executors`), results with Pareto fronts (`results`) and their plot
(`pareto_plot`), and the search of parameters (`search`). Does not belong here: what one run does. May import what
`study` may.
"""

from stowplan.study.sweep.document import Study, load_study, read_study
from stowplan.study.sweep.executors import RayExecutor, dask_executor, process_executor
from stowplan.study.sweep.results import SweepResults
from stowplan.study.sweep.sweep import sweep

__all__ = [
    "RayExecutor",
    "Study",
    "SweepResults",
    "dask_executor",
    "load_study",
    "process_executor",
    "read_study",
    "sweep",
]
