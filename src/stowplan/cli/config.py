"""`stowplan config`: the scheduler configuration with all defaults, and what is wrong with one."""

import json

import click

from stowplan.cli.files import read, shown
from stowplan.cli.plugins import load_plugins, plugin_option
from stowplan.config import IN_TREE_PLUGINS, KubeSchedulerConfiguration, default_configuration, dump, load
from stowplan.config.types import API_VERSION, KIND
from stowplan.errors import ConfigError, InputError, PluginError


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
    help="A plugin that the configuration may name, where its code is not at hand for --plugin; may be given again.",
)
@plugin_option
def check(files: tuple[str, ...], known_plugins: tuple[str, ...], plugins: tuple[str, ...]) -> None:
    """Say whether each FILE ('-' for standard input) is a valid configuration, and all that is wrong where it is not.

    Beyond the fields themselves, the profiles are put together: the plugins must exist, implement the extension points
    at which they are enabled, and accept their arguments.

    Exit status: 0 all are valid, 2 some are not.
    """
    from stowplan.cli.profiles import try_profiles

    registered = load_plugins(plugins)
    known = IN_TREE_PLUGINS.union(known_plugins, registered)
    problems: list[str] = []
    for file in files:
        source = shown(file)
        try:
            checked = load(read(file), source, known)
            try_profiles(checked, registered, source, known_plugins)
            click.echo(f"{source}: valid ({_describe(checked)})")
        except ConfigError as error:
            problems += error.problems
        except (InputError, PluginError) as error:
            problems.append(str(error))
    if problems:
        raise ConfigError(problems)


def _describe(checked: KubeSchedulerConfiguration) -> str:
    profiles = len(checked.profiles)
    version = API_VERSION.rpartition("/")[2]
    return f"{KIND} {version}, {profiles} profile{'s' if profiles != 1 else ''}"
