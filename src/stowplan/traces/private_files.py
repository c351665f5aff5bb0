"""Files that only their owner can read: recordings and logs of decisions have names of pods and nodes.

In a folder such as /tmp other users may prepare the path. A symbolic link and a file of another user are refused.
"""

from __future__ import annotations

import errno
import os
import stat
import sys

_MODE = 0o600
_STANDARD_STREAMS = ("/dev/stdout", "/dev/stderr")
"""Symbolic links that may be followed; no other user can replace them."""


def open_private(path: str | os.PathLike[str], *, append: bool) -> int:
    """A descriptor that writes to a file of mode 0600, which is created with this mode or narrowed to it. An existing
    file is continued or emptied. Raises OSError."""
    flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | (os.O_APPEND if append else 0)
    if os.fspath(path) in _STANDARD_STREAMS:
        return os.open(path, flags)
    try:
        descriptor = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), _MODE)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(error.errno, "Symbolic links are not followed") from error
        raise
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):  # Not a terminal or a pipe.
            _make_private(descriptor)
            if not append:
                os.ftruncate(descriptor, 0)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _make_private(descriptor: int) -> None:
    if sys.platform == "win32":
        return
    found = os.fstat(descriptor)
    if found.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, "The file belongs to another user")
    if stat.S_IMODE(found.st_mode) != _MODE:
        os.fchmod(descriptor, _MODE)
