"""Every in-tree plugin of kube-scheduler's default set.

Belongs here: one module (a folder once it outgrows 200 lines) for each plugin, named after it, and the one literal
registry. A module declares its reasons as Status constants, then the class. Does not belong here: running plugins, and
anything that one plugin needs of another. May import `cache`, `framework`, `config` and `api`; never each other.
"""
