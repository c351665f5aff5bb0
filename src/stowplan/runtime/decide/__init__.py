"""Deciding where a pod goes: PreFilter, Filter, nominated pods, sampling, Score, choice.

Belongs here: the pipeline of a decision (`pipeline`) and the sources of its answers (`sources`, `planned`), the plan
that keeps answers for a pod template, the diagnosis of a pod that fits no node, ties, sampling, extenders' part in a
decision.
Does not belong here: single rules (`plugins`), the search for victims (`runtime.preemption`), applying the decision.
May import: `runtime.points`, `runtime.out_of_tree`, and every room below `runtime`.

Upstream: pkg/scheduler/schedule_one.go (schedulePod, findNodesThatFitPod, prioritizeNodes, selectHost).
"""
