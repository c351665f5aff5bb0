"""The report of a simulation: recorded during the run, assembled at its end, rendered as JSON, YAML or tables.

Belongs here: the engine's observer (`recorder`, with `pending_reasons` and `detailed_decisions` for what it keeps of a
decision), the result as data (`report`: a field of `simulate -o json` is a field of its structs), the difference to a
snapshot (`changed_since_snapshot`), and output formats (`serialized`, `tables`). Does not belong here: options and
terminal handling (`cli`). May import the simulator and the rooms below it.
"""

from stowplan.simulator.report.recorder import RunRecorder
from stowplan.simulator.report.report import SimulationReport, report_of

__all__ = ["RunRecorder", "SimulationReport", "report_of"]
