"""`stowplan scheduler`, and `scheduler_command` for schedulers with compiled-in plugins.

Upstream: cmd/kube-scheduler/app/server.go
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import click
from click.shell_completion import CompletionItem

from stowplan.cli.exit_status import ExitStatus
from stowplan.cli.plugins import load_plugins
from stowplan.errors import ConfigError, PluginBugError, PluginError, StowplanError

if TYPE_CHECKING:
    from stowplan.config.options import Options
    from stowplan.config.releases import Release
    from stowplan.runtime import Factory

Option = Callable[[dict[str, "Factory"]], None]
"""An option of `scheduler_command`. Upstream: app.Option."""


def with_plugin(name: str, factory: Factory) -> Option:
    """Registers a plugin, a class or a factory of (args, handle), under the name used in configurations."""

    def register(registry: dict[str, Factory]) -> None:
        from stowplan.config import IN_TREE_PLUGINS

        if name in registry or name in IN_TREE_PLUGINS:
            raise PluginError(f'a plugin named "{name}" already exists')
        registry[name] = factory

    return register


class SchedulerCommand(Protocol):
    """Runs a scheduler with command-line arguments (default: those of the process) and returns the exit status."""

    def __call__(self, arguments: Sequence[str] | None = None) -> int: ...


def scheduler_command(*options: Option) -> SchedulerCommand:
    """Builds a scheduler with your plugins: call the result and exit with the status that it returns."""

    def command(arguments: Sequence[str] | None = None) -> int:
        return _run(sys.argv[1:] if arguments is None else list(arguments), options)

    return command


def _run(arguments: Sequence[str], options: Sequence[Option]) -> int:
    from stowplan.config import IN_TREE_PLUGINS
    from stowplan.config.flags.command_line import usage
    from stowplan.config.flags.parsing import parse
    from stowplan.scheduler import process
    from stowplan.scheduler.policies import Policies

    registered: dict[str, Factory] = {}
    enabled: dict[str, Factory] = {}

    def known(specifications: tuple[str, ...]) -> frozenset[str]:
        if not enabled:
            enabled.update(load_plugins(specifications))
        return frozenset((*IN_TREE_PLUGINS, *registered, *enabled))

    def parse_for(release: Release) -> Options:
        return parse(arguments, known, policies=Policies, release=release)

    try:
        for option in options:
            option(registered)
        parsed = _parse_for_any_release(parse_for)
        if parsed.print_and_exit == "help":
            click.echo(usage())
            return 0
        if parsed.print_and_exit:
            from stowplan._version import KUBERNETES_VERSION

            click.echo(f"Kubernetes {KUBERNETES_VERSION}")
            return 0
        if not enabled:
            enabled.update(load_plugins(parsed.plugins))
        return process.run(parsed, parse_for, registered, enabled)
    except StowplanError as problem:
        if "--v=5" in arguments or "-v=5" in arguments:
            traceback.print_exc()
        status = process.print_errors(problem)
        return ExitStatus.PLUGIN_BUG if isinstance(problem, PluginBugError) else status


def _parse_for_any_release(parse_for: Callable[[Release], Options]) -> Options:
    """The options for the latest release for which the flags and the file are valid: the server's release is not known
    yet. Raises the error for the latest one if they are valid for none."""
    from stowplan.config.releases import LATEST, RELEASES

    try:
        return parse_for(LATEST)
    except ConfigError as error:
        for release in reversed(RELEASES.values()):
            try:
                return parse_for(release)
            except ConfigError:
                continue
        raise error


class _Command(click.Command):
    """Parses its own flags, as kube-scheduler does, and completes them from the table of flags."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from stowplan.config.flags.table import FLAGS

        flags = [CompletionItem(f"--{name}", help=flag.help) for name, flag in FLAGS.items()]
        return [item for item in flags if item.value.startswith(incomplete)]


@click.command(
    cls=_Command, context_settings={"ignore_unknown_options": True, "help_option_names": []}, add_help_option=False
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, shell_complete=lambda *_: [CompletionItem("", "file")])
def scheduler(arguments: tuple[str, ...]) -> None:
    """Run a scheduler on a cluster, in place of kube-scheduler or beside it."""
    sys.exit(scheduler_command()(arguments))
