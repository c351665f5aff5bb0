"""The verbosity of a run, `-v LEVEL` before or after the command: tracebacks and warnings on standard error."""

import logging

import click

TRACEBACK_LEVEL = 5
_LEVEL = "stowplan.cli.verbosity"
"""Key in the meta of the contexts of a run, which share it."""


def verbosity_option(*, hidden: bool) -> click.Option:
    """The option `-v`. Every command has it; only the help of `stowplan` shows it."""
    return click.Option(
        ["-v", "--v"],
        callback=_set_verbosity,
        expose_value=False,
        metavar="LEVEL",
        hidden=hidden,
        help=f"Verbosity, a klog level, before or after the command. From {TRACEBACK_LEVEL} up, errors include a "
        "traceback.",
    )


def _set_verbosity(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    """Parses a klog level. Accepts `-v=5` as Kubernetes programs do; click passes it as `=5`."""
    if value is None:
        return
    level = value.removeprefix("=")
    if not level.isdecimal():
        raise click.BadParameter(f"{level!r} is not an integer of at least 0.", ctx, param)
    ctx.meta[_LEVEL] = int(level)
    if int(level) and not ctx.resilient_parsing:
        from stowplan import logs

        logs.set_verbosity(int(level))


def verbosity() -> int:
    """The level of the current run."""
    level: int = click.get_current_context().meta.get(_LEVEL, 0)
    return level


def tracebacks_wanted() -> bool:
    """Whether the current run prints a traceback with each error."""
    return verbosity() >= TRACEBACK_LEVEL


def print_warnings_once() -> None:
    """Prints each distinct warning once on standard error, for example of a plugin that raises for every pod.

    A command that configures logging, as the servers do, replaces this handler.
    """
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
