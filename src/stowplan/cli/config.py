"""`stowplan config`: prints the default configuration and checks configurations."""

import click

from stowplan.cli.command import FileCommand, Group
from stowplan.cli.config_convert import convert, output_option, policy_option, show
from stowplan.cli.config_extender import extender
from stowplan.cli.config_files import policies, print_notices
from stowplan.cli.emulated_version import emulated_version_option
from stowplan.cli.plugins import load_plugins, plugin_option
from stowplan.cli.streams import read, shown
from stowplan.config import IN_TREE_PLUGINS, Loaded, default_configuration, dump
from stowplan.config import read as read_config
from stowplan.config.conversion.api_versions import POLICY
from stowplan.config.extender_lints import lint
from stowplan.config.releases import LATEST, Release
from stowplan.config.types import KIND
from stowplan.errors import ConfigError, InputError, PluginBugError, PluginError


@click.group(cls=Group)
def config() -> None:
    """Check, convert and complete scheduler configuration (KubeSchedulerConfiguration, Policy).

    \b
    Examples:
      Check a file and list its errors:
        stowplan config check scheduler.yaml
      Convert an old file to the current version:
        stowplan config convert policy.json
      Print the default configuration:
        stowplan config default
      Write the extender's entry for kube-scheduler:
        stowplan config extender --plugin ./my.py:MyPlugin
    """


config.add_command(convert)
config.add_command(extender)


@config.command()
@output_option
def default(output: str) -> None:
    """Print the default configuration with every plugin, weight, argument and setting.

    \b
    Examples:
      stowplan config default > scheduler.yaml
      stowplan config default -o json | jq .profiles[0].plugins.multiPoint
    """
    show(dump.to_builtins(default_configuration()), output)


@config.command(cls=FileCommand)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--known-plugin",
    "known_plugins",
    metavar="NAME",
    multiple=True,
    help="Accept this plugin name without its code (otherwise use --plugin); may be given again.",
)
@plugin_option
@policy_option
@emulated_version_option("1.36")
def check(
    files: tuple[str, ...],
    known_plugins: tuple[str, ...],
    plugins: tuple[str, ...],
    policy: str | None,
    release: Release | None,
) -> None:
    """Check whether each FILE ('-' for standard input) is a valid configuration, and print all errors.

    Besides the fields, the profiles are built: plugins must exist, implement the extension points at which they are
    enabled, and accept their arguments. Warnings report settings of extenders that are valid but usually unintended,
    and settings of earlier versions without an equivalent.

    \b
    Examples:
      stowplan config check scheduler.yaml
      stowplan config check --plugin ./rack_care.py:RackCare - < scheduler.yaml
      stowplan config check --emulated-version 1.34 scheduler.yaml
      kubectl get configmap scheduler -o jsonpath={.data.config} |
        stowplan config check --known-plugin RackCare -

    Exit status: 0 all files are valid, 2 at least one is not.
    """
    from stowplan.cli.profiles import try_profiles

    registered = load_plugins(plugins)
    known = IN_TREE_PLUGINS.union(known_plugins, registered)
    problems: list[str] = []
    for file in files:
        source = shown(file)
        try:
            checked = read_config(read(file), source, known, policies(policy), release or LATEST)
            try_profiles(checked.config, registered, source, known_plugins)
            print_notices([*checked.converted.notices, *lint(checked, source)])
            click.echo(f"{source}: valid ({_describe(checked)})")
        except ConfigError as error:
            problems += error.problems
        except PluginBugError:
            raise
        except (InputError, PluginError) as error:
            problems.append(str(error))
    if problems:
        raise ConfigError(problems)


def _describe(checked: Loaded) -> str:
    profiles, version = len(checked.config.profiles), checked.converted.version
    what = "Policy v1" if version == POLICY.name else f"{KIND} {version}"
    return f"{what}, {profiles} profile{'s' if profiles != 1 else ''}"
