"""The scheduler's logic without I/O: events of the cluster in, instructions out.

Belongs here: event handlers, scheduling cycle, binding cycle, requeueing after failures, execution of preemptions,
timers, tasks (coroutines without an event loop), and the invariants between them. Does not belong here: decisions
(`runtime`), the queue (`queue`), I/O, a clock or an event loop of its own. May import all rooms below it.

`Engine` is the port. A host (simulator or scheduler) reports objects (`put`, `remove`) and time (`tick`), runs cycles
(`schedule_one`), carries out the instructions that it `take`s, and returns their outcomes (`answer`). All else that a
host needs are read-only views and constructor arguments; the state is private.
"""

from stowplan.engine.engine import Engine
from stowplan.engine.invariants import CheckedEngine
from stowplan.engine.observer import Observer

__all__ = ["CheckedEngine", "Engine", "Observer"]
