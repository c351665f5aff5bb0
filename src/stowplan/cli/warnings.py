"""What the rooms below warn of, such as a user's plugin that raises, where no command sets up a log of its own."""

import logging

import click

LOGGER = "stowplan"


def tell_once(*, with_tracebacks: bool) -> None:
    """Have warnings told on standard error, each once: whatever befalls one pod befalls thousands.

    A log that a command sets up, as servers do, takes their place.
    """
    logging.getLogger(LOGGER).setLevel(logging.DEBUG if with_tracebacks else logging.NOTSET)
    logging.lastResort = _Once(logging.WARNING)


class _Once(logging.Handler):
    def __init__(self, level: int) -> None:
        super().__init__(level)
        self._told: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        if message not in self._told:
            self._told.add(message)
            for line in self.format(record).splitlines():
                click.echo(f"stowplan: {line}", err=True)
