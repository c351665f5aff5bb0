"""The exceptions of Stowplan, one tree, below every room.

A verdict about a pod is a value (`stowplan.framework.Status`), never an exception. An exception is either a bug (any
built-in exception) or one of these, whose text is a complete message for the user: it names the file and the path in
it, and the command line prints it without a traceback.

    StowplanError
    ├── ConfigError     a configuration that cannot be used
    ├── ClusterError    trouble with an API server (`stowplan.cluster.errors`)
    ├── InputError      a case, an object or a file that cannot be read
    │   └── MissingExtraError  it needs a package that is not installed
    └── PluginError     a plugin that cannot be found, built or registered
        └── PluginBugError  a plugin whose code is faulty

The packages of a room define further classes below these. All names end in `Error`.

Not in this tree are exceptions that end a computation across several functions, and that the package which raises them
turns into a value or into an exception of the tree. No user and no other package receives them:

    cel         CelError, CompileError, EvaluationStoppedError, TypeLimitError (results of an expression)
    cluster     OutputTooLargeError (an OSError, as other faults of a credential plugin's process)
    config      MalformedYamlError (a ValueError, as msgspec's errors about JSON)
    plugins     AllocationError, SearchTimeoutError, _PruneError, _TooManyError (the search for devices)
    simulator   ScenarioQuantityError (a ValueError, before its path in the scenario is known)
    testing     GoError, SeveredError

`CommandError` of the command line is a `click.ClickException`, by which click prints a text and exits.
"""

import os
import shlex
from collections.abc import Iterable

EXTRAS = {
    "dask": ("distributed>=2026.1",),
    "data": ("arro3-core>=0.6", "arro3-io>=0.6"),
    "mcp": ("mcp>=2.3",),
    "optuna": ("optuna>=4.0",),
    "plots": ("resvg-py>=0.2",),
    "ray": ("ray>=2.40",),
}
"""The packages of the extras in pyproject.toml that messages name; Ray is among the packages of `test`."""


class StowplanError(Exception):
    """A problem that the user can fix: configuration, input, environment."""


class ConfigError(StowplanError):
    """An invalid configuration. `problems` lists every fault, one line each."""

    def __init__(self, problems: str | Iterable[str]) -> None:
        self.problems = (problems,) if isinstance(problems, str) else tuple(problems)
        super().__init__("\n".join(self.problems))


class InputError(StowplanError):
    """A case, an object or a file that cannot be read or understood."""


class MissingExtraError(InputError):
    """An optional feature needs packages that are not installed.

    The text names these packages. It does not name the extra as `stowplan[...]`: pip would take whatever project an
    index has by the name of Stowplan.
    """

    def __init__(self, need: str, extra: str) -> None:
        super().__init__(f"{need}: pip install {shlex.join(EXTRAS[extra])}")


class PluginError(StowplanError):
    """A plugin that cannot be found, built or registered."""


class PluginBugError(PluginError):
    """A plugin whose code is faulty: it raises an exception when it is loaded, or it would do nothing."""


def os_error_text(error: OSError) -> str:
    """The system's words for an error, without errno, file name and the words that event loops put in their place.

    Errors of name resolution and of OpenSSL are OSErrors whose errno is not the system's.
    """
    if error.errno is None or type(error).__module__ != "builtins":
        return error.strerror or str(error)
    return os.strerror(error.errno)
