"""Our scheduler and kube-scheduler, each on an API server of its own, before the same pods, one at a time.

    $ make parity                                          # 200 workloads of 50 pods over 20 nodes
    $ python -m tests.parity --workloads 5 --seed 7        # fewer of them, others

A workload is a random cluster and random pods. Every pod is created on both sides, and both schedulers must agree about
it: either it stays pending with the same event and the same condition, or it is placed and kube-scheduler's node is
among those with our highest total, or it preempts the same victims. Ties may fall differently, so after each pod
kube-scheduler's choice is made true on our side as well.

`draw`, `nodes`, `pods`, `storage` and `workload` make workloads; `board` and `side` follow an API server; `referee`,
`interludes`, `preemptors` and `waiting` play a workload on two of them; `outcome` and `judging` compare; `tally` and
`run` keep the score. `__main__` starts the processes. Here belong whole runs on real servers; single rules are tested
elsewhere.
"""
