"""The option `--feature-gates`: the gates of kube-scheduler with which a command decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from stowplan.errors import ConfigError

if TYPE_CHECKING:
    from stowplan.config.releases import Release

feature_gates_option: Callable[[Any], Any] = click.option(
    "--feature-gates",
    "feature_gates",
    multiple=True,
    metavar="GATE=BOOL,...",
    help="Feature gates as for 'stowplan scheduler', such as DRADeviceTaintRules=true. With this option, gates that "
    "PodGroups need are not switched on for them.",
)


def with_feature_gates(release: Release, given: tuple[str, ...]) -> Release:
    """The release with the gates of the option. Gates that cannot be set are errors of usage."""
    if not given:
        return release
    from stowplan.config.feature_gates import parse_gates
    from stowplan.config.flags.values import GATES

    try:
        return release.with_gates(parse_gates([pair for text in given for pair in GATES.read(text)], release))
    except ConfigError as error:
        raise click.BadParameter(str(error), param_hint="--feature-gates") from error
