"""Running plugins that are not part of Stowplan.

Belongs here: the wrapper that checks a plugin's answers and turns its exceptions into error statuses, the pod proxy
that detects reads of fields which other pods of the template do not share, the runner that the extender uses.
Does not belong here: in-tree plugins, loading plugins by name (`cli`).
May import: `runtime.points` and `runtime.decide`, and every room below `runtime`.
"""
