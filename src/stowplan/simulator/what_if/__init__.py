"""What-if: changes to a simulated cluster, and the difference that they make.

`run.ClusterRun` is a cluster in memory that runs until nothing moves and can be copied. `answer.what_if` applies
changes (`node_changes`, `workload_changes`, `profile_changes`) in order, lets the cluster run again, and compares the
two reports (`difference`); `fit`, `enough` and `removable` answer questions that need several runs. `diff` compares
two configurations, plugins or recorded runs (`recorded_run`). Answers are records of `records`; `text` and `diff_text`
render them for people. Does not belong here: options and terminal output (`cli`). May import the simulator, `insight`,
and the rooms below.
"""
