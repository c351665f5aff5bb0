"""The exceptions of Stowplan, one tree, below every room.

A verdict about a pod is a value (`stowplan.framework` has `Status`), never an exception. What is raised is a bug (any
built-in exception) or one of these, whose text is a finished message for the person at the terminal: it names the file
and the path inside it, and the command line prints it without a traceback.

    StowplanError
    ├── ConfigError     a configuration that cannot be used
    ├── ClusterError    trouble with an API server (`stowplan.cluster.errors`)
    ├── InputError      a case, an object or a file that cannot be read
    └── PluginError     a plugin that cannot be found, built or registered
"""

import os
from collections.abc import Iterable


class StowplanError(Exception):
    """Anything that the user can mend: configuration, input, the surroundings."""


class ConfigError(StowplanError):
    """A configuration that cannot be used. It tells all that is wrong with it at once, a line each."""

    def __init__(self, problems: str | Iterable[str]) -> None:
        self.problems = (problems,) if isinstance(problems, str) else tuple(problems)
        super().__init__("\n".join(self.problems))


class InputError(StowplanError):
    """A case, an object or a file that cannot be read or understood."""


class PluginError(StowplanError):
    """A plugin that cannot be found, built or registered."""


def os_error_text(error: OSError) -> str:
    """The system's words for an error, without errno, file name and the words that event loops put in their place.

    Errors of name resolution and of OpenSSL are OSErrors whose errno is not the system's.
    """
    if error.errno is None or type(error).__module__ != "builtins":
        return error.strerror or str(error)
    return os.strerror(error.errno)
