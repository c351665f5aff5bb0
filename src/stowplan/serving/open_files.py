"""The limit of open files of this process.

Each connection is an open file. The soft limit is commonly 1024 for the sake of programs that use select(2).
"""

from __future__ import annotations

import sys

_MAX_RAISED = 1 << 20
"""More is never needed, and a limit of "unlimited" is rejected by some systems."""


def raise_open_files_limit() -> None:
    """Raise the soft limit to the hard limit, as Go's runtime does at start."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MAX_RAISED if hard == resource.RLIM_INFINITY else hard
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):
            return  # Refused by the system: the soft limit stays.


def open_files_limit() -> int:
    """The soft limit; a large number where there is none."""
    if sys.platform == "win32":
        return _MAX_RAISED
    import resource

    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _MAX_RAISED if soft == resource.RLIM_INFINITY else soft
