"""The exit statuses of the commands."""

from enum import IntEnum


class ExitStatus(IntEnum):
    """What the status of a command says. `stowplan --help` and `docs/reference/cli.md` have the same table."""

    SUCCESS = 0
    CHECK_FAILED = 1
    """Results that must be equal differ, or some runs of a sweep failed; also of a scheduler that cannot start."""
    INVALID = 2
    """Usage, input, or configuration; or a case of `evaluate` has no verdict."""
    PENDING = 3
    """Some pods are pending, or a node would not do."""
    PLUGIN_BUG = 4
    """A plugin is faulty, or it raised an exception."""
    EXPECTATION_FAILED = 5
    """An expectation of a scenario, or a rule of --fail-if, does not hold."""
    INTERRUPTED = 130
