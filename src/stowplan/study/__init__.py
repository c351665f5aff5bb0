"""Studies: runs of scenarios, their metrics and results, and comparisons of runs.

Belongs here: a run from scenario to result (`run`), the recording of pods, jobs, nodes and series (`recording`),
metrics, expectations, result tables and their files, comparisons over seeds, and reports of all these.
Does not belong here: what happens in the simulated cluster (`simulator`), formats of traces (`traces`), options and
terminal output (`cli`). May import all rooms below it.

`run(scenario, seed)` returns a `RunResult`; equal scenarios and seeds give equal results.
"""

from stowplan.study.result import RunResult
from stowplan.study.run import RunSettings, run, run_or_part
from stowplan.study.table import ResultTable

__all__ = ["ResultTable", "RunResult", "RunSettings", "run", "run_or_part"]
