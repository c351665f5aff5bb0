"""`stowplan config`: the scheduler configuration with all defaults, and what is wrong with one."""

import json
import sys

import click

from stowplan.config import IN_TREE_PLUGINS, KubeSchedulerConfiguration, default_configuration, dump, load
from stowplan.config.types import API_VERSION, KIND
from stowplan.errors import ConfigError


@click.group()
def config() -> None:
    """Check and complete scheduler configuration (KubeSchedulerConfiguration)."""


@config.command()
@click.option(
    "-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True, help="Output format."
)
def default(output: str) -> None:
    """Print what a scheduler without configuration runs with: every plugin, weight, argument and setting."""
    effective = default_configuration()
    if output == "json":
        click.echo(json.dumps(dump.to_builtins(effective), indent=2))
    else:
        click.echo(dump.to_yaml(effective), nl=False)


@config.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--known-plugin",
    "known_plugins",
    metavar="NAME",
    multiple=True,
    help="A plugin of your own that the configuration may name; may be given several times.",
)
def check(files: tuple[str, ...], known_plugins: tuple[str, ...]) -> None:
    """Say whether each FILE ('-' for standard input) is a valid configuration, and all that is wrong where it is not.

    Exit status: 0 all are valid, 2 some are not.
    """
    known = IN_TREE_PLUGINS.union(known_plugins)
    problems: list[str] = []
    for file in files:
        source = "<stdin>" if file == "-" else file
        try:
            click.echo(f"{source}: valid ({_describe(load(_read(file), source, known))})")
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)


def _read(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        with open(file, "rb") as stream:
            return stream.read()
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from error


def _describe(checked: KubeSchedulerConfiguration) -> str:
    profiles = len(checked.profiles)
    version = API_VERSION.rpartition("/")[2]
    return f"{KIND} {version}, {profiles} profile{'s' if profiles != 1 else ''}"
