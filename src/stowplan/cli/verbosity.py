"""The verbosity of a run, given before the command (`stowplan -v 5 ...`): tracebacks and warnings on standard error."""

import logging

import click

TRACEBACK_LEVEL = 5


def parse_verbosity(ctx: click.Context, param: click.Parameter, value: str) -> int:
    """Parses a klog level. Accepts `-v=5` as Kubernetes programs do; click passes it as `=5`."""
    level = value.removeprefix("=")
    if not level.isdecimal():
        raise click.BadParameter(f"{level!r} is not an integer of at least 0.")
    return int(level)


def tracebacks_wanted() -> bool:
    """Whether the current run prints a traceback with each error."""
    verbosity: int = click.get_current_context().find_root().params.get("verbosity", 0)
    return verbosity >= TRACEBACK_LEVEL


def print_warnings_once(verbosity: int) -> None:
    """Prints each distinct warning once on standard error, for example of a plugin that raises for every pod.

    A command that configures logging, as the servers do, replaces this handler.
    """
    if verbosity:
        from stowplan import logs

        logs.set_verbosity(verbosity)
    logging.lastResort = _Once(logging.WARNING)


class _Once(logging.Handler):
    def __init__(self, level: int) -> None:
        super().__init__(level)
        self._printed: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        if message not in self._printed:
            self._printed.add(message)
            for line in self.format(record).splitlines():
                click.echo(f"stowplan: {line}", err=True)
