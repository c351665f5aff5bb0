"""The start of a scheduler in a cluster that is larger than the control planes of the other benchmarks.

Belongs here: a stand-in of the API server that generates lists and watches, and the measurement of the scheduler's
process. Does not belong here: printing of results (`cli`).
May import: the rooms that `bench` may import, `cluster` and `testing`.
"""
