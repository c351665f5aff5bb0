"""An hour of random faults: two replicas of our scheduler on a real API server to which everything happens.

    $ make soak                                            # an hour
    $ STOWPLAN_SOAK_MINUTES=10 make soak
    $ python -m tests.soak --minutes 2 --seed 7

Pods come and go all the time, on nodes that come and go as well. For a while one fault after the other happens, some of
them at once; then there is peace, and everything must be right: every pod that is there is bound, no pod was ever on
two nodes, no node was given more than it has room for, the replicas are alive, and their logs tell of no bug. If
something is not, the run ends with what is wrong, and the folder with all logs is kept.

`surroundings` holds the processes, `traffic` makes pods and nodes come and go, `troubles` are the faults, `__main__` is
the course of a run. Here belong long runs; single faults are tested in `tests/e2e`.
"""
