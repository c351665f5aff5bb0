"""What is told about a simulation: kept while it runs, put together at its end, and written as JSON, YAML or tables.

`recorder` listens to the engine, with `diagnosis` and `examination` for what each decision leaves behind; `report` is
the result as data, `news` the part of it that is new to a cluster, `serialized` and `tables` are how it is shown.
"""

from stowplan.simulator.report.recorder import RunRecorder
from stowplan.simulator.report.report import SimulationReport, report_of

__all__ = ["RunRecorder", "SimulationReport", "report_of"]
