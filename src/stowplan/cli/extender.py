"""`stowplan extender`: serves plugins to kube-scheduler over the extender protocol."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin

import click

from stowplan.cli.command import FileCommand, Group
from stowplan.cli.exit_status import ExitStatus
from stowplan.cli.extender_explain import explain
from stowplan.cli.plugins import SPECIFICATION, load_plugin
from stowplan.cli.progress import Progress
from stowplan.cli.streams import opened, read, shown
from stowplan.cli.verbosity import verbosity
from stowplan.config.duration import Duration
from stowplan.extender.flags import FlaggedField, as_configuration, flagged_fields
from stowplan.extender.server.configuration import ExtenderServerConfiguration, load

if TYPE_CHECKING:
    from stowplan.extender.handlers import GroupMember

_MEBIBYTE = 1 << 20

_plugin = click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="PLUGIN",
    help=f"Plugin to serve: {SPECIFICATION}; may be given again.",
)


def _failure_policy(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> dict[str, str] | None:
    """Parses `pass` or `filter=pass`, given once or more."""
    chosen: dict[str, str] = {}
    for value in values or ():
        verb, separator, policy = value.rpartition("=")
        for each in (verb,) if separator else ("filter", "prioritize", "preempt"):
            chosen[each] = policy
    return chosen or None


def _option(field: FlaggedField) -> Callable[[Any], Any]:
    """The option of a configuration field. Without a value the file's value, or else the field's default, stays."""
    flag = field.flag
    kind = get_args(field.type)[0] if field.type == int | None else field.type
    settings: dict[str, Any] = {
        "default": None,
        "metavar": flag.metavar,
        "help": flag.help + _shown_default(field.default),
    }
    if kind is bool:
        settings["is_flag"] = True
    elif kind is int:
        settings["type"] = int
    elif flag.choices:
        settings["type"] = click.Choice(flag.choices)
    elif flag.option == "failure_policy":
        settings |= {"multiple": True, "callback": _failure_policy}
    elif get_origin(kind) is tuple:
        settings["multiple"] = True
    return click.option(flag.name, **settings)


def _shown_default(default: Any) -> str:
    if isinstance(default, int) and default and default % _MEBIBYTE == 0:
        return f"  [default: {default // _MEBIBYTE} MiB]"
    shown = isinstance(default, int | str | Duration) and not isinstance(default, bool) and default not in ("", 0)
    return f"  [default: {default}]" if shown else ""


_OPTIONS = (
    click.option("--config", "file", metavar="FILE", help="ExtenderServerConfiguration file; flags override it."),
    _plugin,
    *(_option(field) for field in flagged_fields(ExtenderServerConfiguration)),
)


def _with_options(command: Any) -> Any:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.group(cls=Group, invoke_without_command=True)
@_with_options
@click.pass_context
def extender(ctx: click.Context, /, file: str | None, plugins: tuple[str, ...], **options: Any) -> None:
    """Serve plugins to kube-scheduler as an HTTP extender.

    A plugin's 'filter' serves the filter verb, 'score' prioritize, 'bind' bind, and 'select_victims' preempt. Requests
    with whole nodes need no access to the cluster. For requests with node names only (nodeCacheCapable: true,
    recommended on clusters) use --kubeconfig or --in-cluster. If kube-scheduler is configured for the other kind, the
    first request is logged with the setting to change.

    \b
    Examples:
      A plugin behind the kube-scheduler on this machine:
        stowplan extender --plugin ./my.py:MyPlugin --port 8888
      Print the matching entry for kube-scheduler's configuration:
        stowplan config extender --plugin ./my.py:MyPlugin
      The same with node names only, on a cluster:
        stowplan extender --plugin ./my.py:MyPlugin --kubeconfig ~/.kube/config
        stowplan config extender --plugin ./my.py:MyPlugin --node-names
      With the paths of an existing configuration:
        stowplan extender --plugin ./my.py:MyPlugin \\
          --url-prefix /api/scheduler --prioritize-verb priority
      With TLS and client certificates:
        stowplan extender --plugin ./my.py:MyPlugin --bind-address 0.0.0.0 \\
          --tls-cert-file tls.crt --tls-private-key-file tls.key \\
          --client-ca-file ca.crt --allowed-names system:kube-scheduler
      Several plugins, each for its own pods, from a file (kind: ExtenderServerConfiguration):
        stowplan extender --config extender.yaml
      Compare the replies of a changed plugin with recorded ones:
        stowplan extender --plugin ./my.py:MyPlugin --record requests.jsonl
        stowplan extender replay requests.jsonl --plugin ./changed.py:MyPlugin

    Serves /healthz, /readyz, /version, /metrics and /debug/decisions. SIGTERM stops it after all accepted requests are
    answered. Exit status: 0 stopped by a signal, 2 it could not start.
    """
    if ctx.invoked_subcommand is not None:
        return
    from stowplan import logs
    from stowplan.extender.server import process

    logs.configure(logs.LogOptions(verbosity=verbosity()))
    config = _load(file, plugins, options)
    sys.exit(process.serve(config, _members(config)))


def _load(file: str | None, plugins: Sequence[str], options: dict[str, Any]) -> ExtenderServerConfiguration:
    content, source = (None, "command line") if file is None else (read(file), shown(file))
    folder = None if file in (None, "-") else Path(str(file)).parent
    return load(content, source, overrides(plugins, options), folder)


def overrides(plugins: Sequence[str], options: dict[str, Any]) -> dict[str, Any]:
    """The given flags, in the shape of the configuration."""
    named = {"plugins": [{"plugin": plugin} for plugin in plugins]} if plugins else {}
    return {**named, **as_configuration(ExtenderServerConfiguration, options)}


def _members(config: ExtenderServerConfiguration) -> list[GroupMember]:
    from stowplan.extender.handlers import GroupMember

    return [
        GroupMember(
            load_plugin(entry.plugin), name=entry.name, args=entry.args, weight=entry.weight, selector=entry.selector
        )
        for entry in config.plugins
    ]


extender.add_command(explain)


@extender.command(cls=FileCommand)
@click.argument("recording", metavar="FILE")
@_plugin
@click.option(
    "--config", "file", metavar="FILE", help="ExtenderServerConfiguration file with plugins, arguments and selectors."
)
@click.option("--limit", type=int, default=20, show_default=True, help="Maximum number of differences to print.")
def replay(recording: str, plugins: tuple[str, ...], file: str | None, limit: int) -> None:
    """Send the requests recorded in FILE ('-' for standard input) to the plugins, and print replies that differ.

    Nodes of requests with names only are taken from the recording. The recording has no pods on nodes, and of pods
    and nodes only the fields that kube-scheduler's plugins read: no environment variables, no commands, no annotations
    but those of --keep-annotation. A plugin that reads more can differ for that reason alone. A recording made with
    --shadow has the replies that were sent, so every decision that shadow mode suppressed differs.

    \b
    Examples:
      stowplan extender replay requests.jsonl --plugin ./changed.py:MyPlugin

    Exit status: 0 all replies are equal, 1 some differ, 2 the file cannot be replayed.
    """
    from stowplan.extender.server.replay import replayed

    config = _load(file, plugins, {})
    total = different = 0
    with Progress() as progress, opened(recording) as lines:
        progress.start("reading requests")
        for total, outcome in enumerate(replayed(lines, shown(recording), _members(config), config), 1):
            progress.start(f"replayed {total:,} requests")
            if outcome.differences:
                different += 1
                if different <= limit:
                    progress.write_line("\n  ".join((outcome.title, *outcome.differences)), err=False)
    if different > limit:
        click.echo(f"… and {different - limit} more")
    click.echo(f"{total} requests, {different} answered differently")
    sys.exit(ExitStatus.CHECK_FAILED if different else ExitStatus.SUCCESS)
