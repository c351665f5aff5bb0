"""An hour of random faults: two replicas of our scheduler on a real API server.

    $ make soak                                            # an hour
    $ STOWPLAN_SOAK_MINUTES=10 make soak
    $ python -m tests.soak --minutes 2 --seed 7

Pods and nodes are created and deleted all the time. In turns, faults are injected for a while, some at once, and
recovery is checked: every pod is bound, no pod was ever on two nodes, no node is overcommitted, the replicas are alive,
and their logs report no bug. At the first problem the run ends with a report, and the folder with all logs is kept.

`surroundings` holds the processes, `traffic` creates and deletes pods and nodes, `faults` has the faults, `__main__` is
the run. Long runs belong here; single faults are tested in `tests/e2e`.
"""
