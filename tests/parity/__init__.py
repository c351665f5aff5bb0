"""Our scheduler and kube-scheduler, each on an API server of its own, schedule the same pods, one at a time.

    $ make parity                                          # 200 workloads of 50 pods over 20 nodes
    $ python -m tests.parity --workloads 5 --seed 7        # fewer of them, others

A workload is a random cluster and random pods. Every pod is created on both sides, and both schedulers must agree about
it: either it stays pending with the same event and the same condition, or it is placed and kube-scheduler's node is
among those with our highest total, or it preempts the same victims. Ties may fall differently, so after each pod
kube-scheduler's choice is made true on our side as well.

`draw`, `nodes`, `pods`, `storage` and `workload` make workloads; `pod_watch` and `side` follow an API server;
`comparison`, `cluster_changes`, `preemptors` and `waiting` run a workload on two of them; `outcome` and `agreement`
compare the outcomes; `totals` and `run` record the results. `__main__` starts the processes. Whole runs on real servers
belong here; single rules are tested elsewhere.
"""
