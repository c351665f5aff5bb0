"""Warnings of commands without a log of their own, such as a failing out-of-tree plugin in `simulate`."""

import logging

import click


def print_once(verbosity: int) -> None:
    """Print warnings on standard error, each text once: a failure for one pod repeats for thousands.

    A command that configures a log, as servers do, replaces this.
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
