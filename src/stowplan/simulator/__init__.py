"""The embedded cluster: a world in memory that stands where an API server, its controllers and kubelets would.

Belongs here: the objects and what writing them does (`world`), what an API server adds to objects (`admission`), what
controllers make of them (`controllers`, all those that it puts together, `workloads`), faults, reading manifests and
applying them to the objects of a cluster (`overlay`), the loop that feeds all this to the engine in virtual time, what
is told about a run (`report`), and the `demo`. Time is a number that the caller's clock gives; nothing sleeps, nothing
is random unless a seeded generator is passed in, and the same input gives the same names and uids.
Does not belong here: any scheduling rule, writing to a terminal or a file (`cli` does), talking to a real cluster.
May import everything below. Only `cli` imports this room.

Left out, since no verdict hangs on it or only that of rare clusters: LimitRange and RuntimeClass admission, rolling
updates and scaling down, adopting pods by their labels, kubelets that refuse pods, and the topology labels that binding
copies to pods.
"""
