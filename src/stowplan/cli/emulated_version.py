"""The option `--emulated-version`: the release of kube-scheduler whose decisions a command makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from stowplan.errors import ConfigError

if TYPE_CHECKING:
    from stowplan.config.releases import Release


def _parse(ctx: click.Context, param: click.Parameter, value: str | None) -> Release | None:
    if value is None:
        return None
    from stowplan.config.flags.checks import parse_emulated_version

    try:
        return parse_emulated_version([value])
    except ConfigError as error:
        raise click.BadParameter(str(error), ctx, param) from error


def emulated_version_option(default: str) -> Callable[[Any], Any]:
    """The option. The command receives a Release, or None without the option; `default` is for the help."""
    return click.option(
        "--emulated-version",
        "release",
        metavar="VERSION",
        callback=_parse,
        help=f"Decide as this release of kube-scheduler: 1.33, 1.34, 1.35 or 1.36. Default: {default}.",
    )
