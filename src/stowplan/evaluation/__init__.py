"""Cases in, verdicts out: what the scheduler would say about one pod in one cluster, both given as data.

Belongs here: the format of cases and verdicts, checking a case, putting it into a cache, asking a profile. Does not
belong here: any scheduling rule, reading files, printing. May import `runtime` and everything below it.
"""

from stowplan.evaluation.evaluator import Evaluator

__all__ = ["Evaluator"]
