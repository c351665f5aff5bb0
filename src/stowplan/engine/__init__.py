"""The scheduling loop, as a pure object: what happens in the cluster goes in, what is to be done about it comes out.

Belongs here: the scheduling cycle and the binding cycle, what failure does to a pod, carrying out a preemption, taking
in what a watch tells, timers, the invariants that hold between all of these. Does not belong here: deciding
(`runtime`), waiting in line (`queue`), any I/O, any clock of its own, any event loop. May import everything below.

`Engine` is the port. A host tells it of objects (`put`, `remove`) and of time (`tick`), lets it work (`schedule_one`),
carries out the instructions that it `take`s, and brings the answers back (`answer`).
"""

from stowplan.engine.engine import Engine
from stowplan.engine.observer import Observer

__all__ = ["Engine", "Observer"]
