"""What holds between the parts of an engine at all times, and how to find out that it does not.

Belongs here: rules that look at several rooms at once. `places` says where pods may be, `books` that what is counted is
what is there, `waking` that no pod waits for something that has happened; `watch` applies the first two after every
call of an engine that is made with `check_invariants`. The last asks plugins, and is for tests and for a closer look.
Does not belong here: any remedy. May import what the engine may.
"""

from stowplan.engine.invariants.checker import InvariantError, Invariants, check
from stowplan.engine.invariants.wakeups import Overlooked, overlooked

__all__ = ["InvariantError", "Invariants", "Overlooked", "check", "overlooked"]
