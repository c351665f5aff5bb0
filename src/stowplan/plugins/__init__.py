"""The in-tree plugins of kube-scheduler's default set.

Belongs here: one module for each plugin (a folder from 200 lines on), named after it, and the registry. A module
declares its rejections as Status constants, then the class. Does not belong here: running plugins (`runtime`), and code
that one plugin needs of another (`plugins.base`). May import: `queue`, `cache`, `cel`, `config`, `framework`, `api` and
below. Plugins do not import each other.

Upstream: pkg/scheduler/framework/plugins
"""
