"""The verbosity of a run, given before the command: `stowplan -v 5 ...`."""

import click

TRACEBACKS_FROM = 5


def parse_verbosity(ctx: click.Context, param: click.Parameter, value: str) -> int:
    """Read a klog level. Kubernetes' programs also take `-v=5`, of which click leaves `=5`."""
    level = value.removeprefix("=")
    if not level.isdecimal():
        raise click.BadParameter(f"{level!r} is not a whole number from 0 up.")
    return int(level)


def tracebacks_wanted() -> bool:
    """Whether errors come with a traceback in the run at hand."""
    verbosity: int = click.get_current_context().find_root().params.get("verbosity", 0)
    return verbosity >= TRACEBACKS_FROM
