"""The openb experiments: GPU allocation and fragmentation by policy, with the order of arrival of a seed.

Belongs here: one experiment through the engine (`experiment`), its metrics over arrived load (`load_curve`), and the
comparison with published results (`published`). Does not belong here: the trace's format (`traces.openb`), policies
(`optional_plugins.fractional_gpu`). May import all rooms that `bench` may.
"""

from stowplan.bench.openb.experiment import POLICIES, OpenbExperiment, OpenbResult, run_experiment
from stowplan.bench.openb.published import PublishedResults

__all__ = ["POLICIES", "OpenbExperiment", "OpenbResult", "PublishedResults", "run_experiment"]
