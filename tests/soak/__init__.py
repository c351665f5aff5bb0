"""An hour of random faults and hostile tenants: two replicas of our scheduler on a real API server.

    $ make soak                                            # an hour
    $ STOWPLAN_SOAK_MINUTES=10 make soak
    $ python -m tests.soak --minutes 2 --seed 7

Pods and nodes are created and deleted all the time, by ordinary and by hostile tenants. In turns, faults are injected
for a while, some at once, and recovery is checked: every ordinary pod is bound, no pod was ever on two nodes, no node
is overcommitted, the replicas are alive, and their logs report no bug. At the first problem the run ends with a report,
and the folder with all logs is kept.

A third scheduler, with pods and a node of its own, is never ended. Its memory at the end must not exceed that at minute
ten by more than a tenth.

`surroundings` holds the processes, `traffic` creates and deletes pods and nodes, `hostile_tenants` creates pods that
are expensive to schedule, `faults` has the faults, `__main__` is the run. Long runs belong here; single faults and
single hostile pods are tested in `tests/e2e`.
"""
