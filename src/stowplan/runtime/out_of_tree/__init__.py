"""Running out-of-tree plugins.

Belongs here: the adapter that checks a plugin's answers and turns its exceptions into error statuses, the pod that
detects reads of fields which other pods of the template do not share, the runner that the extender uses, threads for
calls that may block. Does not belong here: in-tree plugins, loading plugins by name (`cli`). May import:
`runtime.points` and `runtime.decide`, and every room below `runtime`.
"""
