"""Invariants between the parts of an engine, and their checks.

Belongs here: rules that concern several rooms at once. `queue_places`: every pending pod is in exactly one place.
`accounting`: counters and columns equal a recount. `group_members`: states of pod groups do, and gangs are bound
whole. `wakeups`: no pod waits for an event that has happened.
`CheckedEngine` applies the first three after every call; the last runs filters and is for tests.
Does not belong here: repairs. May import: everything that the engine may.
"""

from stowplan.engine.invariants.checked_engine import CheckedEngine, InvariantError, check
from stowplan.engine.invariants.wakeups import Overlooked, overlooked

__all__ = ["CheckedEngine", "InvariantError", "Overlooked", "check", "overlooked"]
