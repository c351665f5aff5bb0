"""What-if: changes to a simulated cluster, and the difference that they make.

`run.Run` is a cluster in memory that is loaded, runs until nothing moves, and can be copied. `answer.what_if` applies
changes (`node_changes`, `workload_changes`, `profile_changes`) in order, lets the cluster run again, and compares the
two reports (`difference`); `fit`, `enough` and `removable` answer questions that need several runs. The answer is a
record of `records`, and `text` renders it for people. Does not belong here: options and terminal output (`cli`). May
import the simulator, `insight`, and the rooms below.
"""
