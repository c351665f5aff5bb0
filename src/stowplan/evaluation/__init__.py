"""Evaluation of cases: the scheduler's verdict on one pending pod, or on the pending members of one pod group, in one
cluster, all given as data.

Belongs here: the format of cases and verdicts, validation of a case, loading it into a cache, running a profile on it.
Does not belong here: scheduling rules, reading files, printing. May import `runtime` and the rooms below it.
"""

from stowplan.evaluation.documents import cases_of
from stowplan.evaluation.evaluator import Evaluator

__all__ = ["Evaluator", "cases_of"]
