"""kube-scheduler's flags: a command line in, options out.

Belongs here: the table of flags and what becomes of each, reading their values as Kubernetes does, feature gates, and
which of flag and configuration file has the say. Does not belong here: acting on any of it.
May import: `options`, and what `scheduler` may.
"""
