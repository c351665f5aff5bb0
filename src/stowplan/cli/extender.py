"""`stowplan extender`: a plugin behind any kube-scheduler, as its webhook."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from stowplan.cli.command import FileCommand, Group
from stowplan.cli.extender_explain import explain
from stowplan.cli.files import opened, read, shown
from stowplan.cli.plugins import load_plugin
from stowplan.cli.progress import Progress

_VERBS = ("filter", "prioritize", "preempt", "bind")

FLAGS: dict[str, tuple[str, ...]] = {
    "address": ("serving", "bindAddress"),
    "port": ("serving", "port"),
    "url_prefix": ("serving", "urlPrefix"),
    "tls_cert_file": ("serving", "tls", "certFile"),
    "tls_private_key_file": ("serving", "tls", "keyFile"),
    "client_ca_file": ("serving", "tls", "clientCAFile"),
    "allowed_names": ("serving", "tls", "allowedNames"),
    "max_body_size": ("serving", "maxBodyBytes"),
    "gzip": ("serving", "gzip"),
    **{f"{verb}_verb": ("verbs", verb) for verb in _VERBS},
    "http_timeout": ("httpTimeout",),
    "shadow": ("shadow",),
    "spare_critical": ("spareCritical",),
    "lower_case_replies": ("lowerCaseReplies",),
    "bare_names": ("bareNames",),
    "kubeconfig": ("cluster", "kubeconfig"),
    "in_cluster": ("cluster", "inCluster"),
    "leader_elect": ("cluster", "leaderElection", "leaderElect"),
    "metrics_address": ("monitoring", "bindAddress"),
    "metrics_port": ("monitoring", "port"),
    "decisions": ("monitoring", "decisions"),
    "decision_log": ("monitoring", "decisionLog"),
    "log_requests": ("monitoring", "logRequests"),
    "record": ("monitoring", "record"),
    "keep_annotations": ("monitoring", "keepAnnotations"),
}
"""Where in the configuration a flag's value belongs."""

_plugin = click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="MODULE:CLASS",
    help="A plugin to serve: package.module:Class or ./file.py:Class; may be given again.",
)


def _failure_policy(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> dict[str, str]:
    """`pass`, or `filter=pass`, given once or more."""
    chosen: dict[str, str] = {}
    for value in values:
        verb, separator, policy = value.rpartition("=")
        for each in (verb,) if separator else ("filter", "prioritize", "preempt"):
            chosen[each] = policy
    return chosen


def _option(*names: str, **settings: Any) -> Callable[[Any], Any]:
    """An option that leaves no trace unless it is given, so that a file's value stays."""
    return click.option(*names, default=None, **settings)


_OPTIONS = (
    click.option("--config", "file", metavar="FILE", help="Take all of this, and more, from a file; flags come first."),
    _plugin,
    _option("--port", type=int, help="Port that schedulers call.  [default: 8888]"),
    _option("--bind-address", "address", metavar="IP", help="Address to listen on.  [default: 127.0.0.1]"),
    _option("--url-prefix", metavar="PATH", help="What stands before the verbs, as urlPrefix has it."),
    _option("--filter-verb", metavar="NAME", help="What the filter verb is called; '' for none.  [default: filter]"),
    _option("--prioritize-verb", metavar="NAME", help="The same for prioritize.  [default: prioritize]"),
    _option("--bind-verb", metavar="NAME", help="The same for bind.  [default: bind]"),
    _option("--preempt-verb", metavar="NAME", help="The same for preempt.  [default: preempt]"),
    _option("--http-timeout", metavar="TIME", help="The scheduler's httpTimeout; answers leave before.  [default: 5s]"),
    click.option(
        "--failure-policy",
        multiple=True,
        callback=_failure_policy,
        metavar="[VERB=]POLICY",
        help="What is answered where plugins fail: fail, pass (as if they agreed) or cached (the last answer for the "
        "pod); for all verbs, or for one: filter, prioritize, preempt.  [default: fail]",
    ),
    _option("--shadow", is_flag=True, help="Work everything out and tell of it, but reject nothing, prefer nothing."),
    _option("--spare-critical", is_flag=True, help="Never reject pods of system-critical priority."),
    _option("--lower-case-replies", is_flag=True, help="Write the keys of replies in lower case."),
    _option(
        "--tls-cert-file", metavar="FILE", help="Serve HTTPS with this certificate; it is read again when it changes."
    ),
    _option("--tls-private-key-file", metavar="FILE", help="The certificate's key."),
    _option("--client-ca-file", metavar="FILE", help="Demand client certificates that these authorities have signed."),
    click.option(
        "--allowed-names",
        multiple=True,
        metavar="NAME",
        help="Only those with this common or alternative name; repeat.",
    ),
    _option("--max-body-size", type=int, metavar="BYTES", help="Largest request that is accepted.  [default: 64 MiB]"),
    _option("--gzip", type=click.Choice(["auto", "always", "never"]), help="Compress large replies.  [default: auto]"),
    _option(
        "--bare-names", is_flag=True, help="Answer names-only requests without a cluster: plugins see names, no more."
    ),
    _option("--kubeconfig", metavar="FILE", help="The cluster: for names-only requests, reservations and binding."),
    _option("--in-cluster", is_flag=True, help="The cluster as kubectl finds it: $KUBECONFIG or the service account."),
    _option("--leader-elect", is_flag=True, help="Several replicas: the one with the lease holds reservations."),
    _option("--metrics-port", type=int, help="Serve health, metrics and decisions on a port of their own."),
    _option("--metrics-bind-address", "metrics_address", metavar="IP", help="The address for that port."),
    _option("--decisions", type=int, metavar="N", help="Decisions kept for /debug/decisions.  [default: 256]"),
    _option("--decision-log", metavar="FILE", help="Append every decision to this file, a line of JSON each."),
    _option("--log-requests", is_flag=True, help="Log what comes and goes, without secrets."),
    _option("--record", metavar="FILE", help="Append every request to this file, without secrets, for 'replay'."),
    click.option(
        "--keep-annotation",
        "keep_annotations",
        multiple=True,
        metavar="KEY",
        help="Leave this annotation in recordings.",
    ),
)


def _with_options(command: Any) -> Any:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.group(cls=Group, invoke_without_command=True)
@_with_options
@click.pass_context
def extender(
    ctx: click.Context, /, file: str | None, plugins: tuple[str, ...], failure_policy: dict[str, str], **flags: Any
) -> None:
    """Serve plugins to kube-scheduler as an extender: it asks over HTTP, they answer.

    A plugin's 'filter' answers the filter verb, 'score' prioritize, 'bind' bind and 'select_victims' preempt. Requests
    that carry whole nodes need no access to the cluster; for those that name nodes (nodeCacheCapable: true, the better
    choice) give --kubeconfig or --in-cluster.

    \b
    Examples:
      A plugin behind the kube-scheduler on this machine:
        stowplan extender --plugin ./my.py:MyPlugin --port 8888
      The stanza for the scheduler's configuration to go with it:
        stowplan config extender --plugin ./my.py:MyPlugin
      Paths as an existing configuration has them:
        stowplan extender --plugin ./my.py:MyPlugin \\
          --url-prefix /api/scheduler --prioritize-verb priority
      Only for schedulers that prove who they are:
        stowplan extender --plugin ./my.py:MyPlugin --bind-address 0.0.0.0 \\
          --tls-cert-file tls.crt --tls-private-key-file tls.key \\
          --client-ca-file ca.crt --allowed-names system:kube-scheduler
      Several plugins, each for its own pods, from a file (kind: ExtenderServerConfiguration):
        stowplan extender --config extender.yaml
      What would other code have answered?
        stowplan extender --plugin ./my.py:MyPlugin --record requests.jsonl
        stowplan extender replay requests.jsonl --plugin ./changed.py:MyPlugin

    /healthz, /readyz, /version, /metrics and /debug/decisions tell how it goes. SIGTERM ends it once every request
    that came is answered. Exit status: 0 ended as told, 2 cannot start.
    """
    if ctx.invoked_subcommand is not None:
        return
    from stowplan import logs
    from stowplan.extender.server import build_settings, configuration, process

    logs.configure(logs.LogOptions(verbosity=ctx.find_root().params.get("verbosity", 0)))
    content, source = (None, "command line") if file is None else (read(file), shown(file))
    config = configuration.load(content, source, overrides(plugins, failure_policy, flags), _folder(file))
    sys.exit(process.serve(build_settings.assemble(config, load_plugin)))


def _folder(file: str | None) -> Path | None:
    return None if file in (None, "-") else Path(str(file)).parent


def overrides(plugins: Sequence[str], failure_policy: dict[str, str], flags: dict[str, Any]) -> dict[str, Any]:
    """What the flags say, in the shape of the configuration."""
    said: dict[str, Any] = {}
    if plugins:
        said["plugins"] = [{"plugin": plugin} for plugin in plugins]
    if failure_policy:
        said["failurePolicy"] = dict(failure_policy)
    for flag, value in flags.items():
        if value is None or value == ():
            continue
        *above, last = FLAGS[flag]
        place = said
        for name in above:
            place = place.setdefault(name, {})
        place[last] = list(value) if isinstance(value, tuple) else value
    return said


extender.add_command(explain)


@extender.command(cls=FileCommand)
@click.argument("recording", metavar="FILE")
@_plugin
@click.option("--config", "file", metavar="FILE", help="Take plugins, their arguments and selectors from a file.")
@click.option("--limit", type=int, default=20, show_default=True, help="How many differences to show.")
def replay(recording: str, plugins: tuple[str, ...], file: str | None, limit: int) -> None:
    """Ask plugins what was asked when FILE ('-' for standard input) was recorded; show where they answer otherwise.

    Requests that named nodes are answered from the nodes in the recording. Pods on nodes, values of annotations and
    environment variables are not in it, so a plugin that reads those may differ for that reason alone. What was
    recorded with --shadow is what was sent, so that all that was only thought differs.

    \b
    Examples:
      stowplan extender replay requests.jsonl --plugin ./changed.py:MyPlugin

    Exit status: 0 all answers are the same, 1 some differ, 2 it cannot be replayed.
    """
    from stowplan.extender.server import build_settings, configuration
    from stowplan.extender.server.replay import replayed

    content, source = (None, "command line") if file is None else (read(file), shown(file))
    settings = build_settings.assemble(
        configuration.load(content, source, overrides(plugins, {}, {}), _folder(file)), load_plugin
    )
    total = different = 0
    with Progress() as progress, opened(recording) as lines:
        progress.start("reading requests")
        for total, outcome in enumerate(replayed(lines, shown(recording), settings), 1):
            progress.start(f"asked {total:,} requests again")
            if outcome.differences:
                different += 1
                if different <= limit:
                    progress.tell("\n  ".join((outcome.title, *outcome.differences)), err=False)
    if different > limit:
        click.echo(f"… and {different - limit} more")
    click.echo(f"{total} requests, {different} answered otherwise")
    sys.exit(1 if different else 0)
