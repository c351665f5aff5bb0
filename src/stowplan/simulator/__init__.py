"""The simulated cluster: an API server in memory with its controllers, and a host that runs the engine on it.

Belongs here: stored objects and the API server's handling of requests (`api_server`, `api_writes`), admission and
defaults, quotas, controllers (`controllers`, `workloads`, volumes, claims, disruption budgets), injected faults, the
objects of files and clusters (`input`), their way into the API server (`load`), the loop in virtual time
(`simulation`), the life of pods and nodes over time (`kubelet`, `job_completion`, `node_lifecycle`, `autoscaler`),
scenarios (`scenario`) with their random numbers (`streams`), runs on a terminal (`watch`), the events of a run for the
page (`timeline`), and the `demo`.
The result of a run is in `report`: the fields of `simulate -o json` are the structs of `report.report`, and
`report.tables` renders them for people. Time is the caller's clock, randomness a seeded generator: equal input gives
equal names and uids.
Does not belong here: scheduling rules, terminal or file output (`cli`), access to a real cluster (`cluster`).
May import all rooms below it; only `study`, `bench`, `library` and `cli` import this room.

Not simulated, since no or few verdicts depend on it: limits of LimitRanges, RuntimeClass admission, rolling updates and
scaling down, adoption of pods by labels, kubelets that reject pods, and topology labels that binding copies to pods.
"""
