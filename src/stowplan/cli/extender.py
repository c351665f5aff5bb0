"""`stowplan extender`: serves plugins to kube-scheduler over the extender protocol."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from stowplan.cli.command import FileCommand, Group
from stowplan.cli.extender_explain import explain
from stowplan.cli.plugins import load_plugin
from stowplan.cli.progress import Progress
from stowplan.cli.streams import opened, read, shown

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
"""The field of the configuration that each flag sets."""

_plugin = click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="MODULE:CLASS",
    help="Plugin to serve: package.module:Class or ./file.py:Class; may be given again.",
)


def _failure_policy(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> dict[str, str]:
    """Parses `pass` or `filter=pass`, given once or more."""
    chosen: dict[str, str] = {}
    for value in values:
        verb, separator, policy = value.rpartition("=")
        for each in (verb,) if separator else ("filter", "prioritize", "preempt"):
            chosen[each] = policy
    return chosen


def _option(*names: str, **settings: Any) -> Callable[[Any], Any]:
    """An option that is None unless given, so that the file's value applies."""
    return click.option(*names, default=None, **settings)


_OPTIONS = (
    click.option("--config", "file", metavar="FILE", help="ExtenderServerConfiguration file; flags override it."),
    _plugin,
    _option("--port", type=int, help="Port to serve the verbs on.  [default: 8888]"),
    _option("--bind-address", "address", metavar="IP", help="Address to listen on.  [default: 127.0.0.1]"),
    _option("--url-prefix", metavar="PATH", help="Path before the verbs, as in the scheduler's urlPrefix."),
    _option("--filter-verb", metavar="NAME", help="Name of the filter verb; '' disables it.  [default: filter]"),
    _option("--prioritize-verb", metavar="NAME", help="Name of the prioritize verb.  [default: prioritize]"),
    _option("--bind-verb", metavar="NAME", help="Name of the bind verb.  [default: bind]"),
    _option("--preempt-verb", metavar="NAME", help="Name of the preempt verb.  [default: preempt]"),
    _option(
        "--http-timeout",
        metavar="TIME",
        help="The scheduler's httpTimeout; replies are sent before it ends.  [default: 5s]",
    ),
    click.option(
        "--failure-policy",
        multiple=True,
        callback=_failure_policy,
        metavar="[VERB=]POLICY",
        help="Reply if a plugin fails: fail, pass (accept all nodes) or cached (the pod's last reply); for all verbs "
        "or for one of filter, prioritize, preempt.  [default: fail]",
    ),
    _option(
        "--shadow", is_flag=True, help="Compute and record decisions, but reject no node and score all nodes equally."
    ),
    _option("--spare-critical", is_flag=True, help="Accept all nodes for pods of system-critical priority."),
    _option("--lower-case-replies", is_flag=True, help="Use lower-case keys in replies."),
    _option("--tls-cert-file", metavar="FILE", help="Serve HTTPS with this certificate; reloaded when it changes."),
    _option("--tls-private-key-file", metavar="FILE", help="Key of the certificate."),
    _option("--client-ca-file", metavar="FILE", help="Require client certificates signed by these CAs."),
    click.option(
        "--allowed-names",
        multiple=True,
        metavar="NAME",
        help="Accept only clients with this common name or SAN; may be given again.",
    ),
    _option("--max-body-size", type=int, metavar="BYTES", help="Maximum size of a request.  [default: 64 MiB]"),
    _option("--gzip", type=click.Choice(["auto", "always", "never"]), help="Compress large replies.  [default: auto]"),
    _option(
        "--bare-names",
        is_flag=True,
        help="Serve requests with node names only, without a cluster: plugins see only the names.",
    ),
    _option(
        "--kubeconfig", metavar="FILE", help="Cluster for requests with node names only, reservations and binding."
    ),
    _option("--in-cluster", is_flag=True, help="Use the cluster of $KUBECONFIG or of the service account."),
    _option("--leader-elect", is_flag=True, help="Elect a leader among replicas; only the leader keeps reservations."),
    _option("--metrics-port", type=int, help="Serve health, metrics and decisions on a separate port."),
    _option("--metrics-bind-address", "metrics_address", metavar="IP", help="Address of the metrics port."),
    _option("--decisions", type=int, metavar="N", help="Number of decisions in /debug/decisions.  [default: 256]"),
    _option("--decision-log", metavar="FILE", help="Append every decision to this file as a line of JSON."),
    _option("--log-requests", is_flag=True, help="Log requests and replies, without secrets."),
    _option(
        "--record",
        metavar="FILE",
        help="Append every request to this file, without secrets, for 'stowplan extender replay'.",
    ),
    click.option(
        "--keep-annotation",
        "keep_annotations",
        multiple=True,
        metavar="KEY",
        help="Keep the value of this annotation in recordings; may be given again.",
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
    """Serve plugins to kube-scheduler as an HTTP extender.

    A plugin's 'filter' serves the filter verb, 'score' prioritize, 'bind' bind, and 'select_victims' preempt. Requests
    with whole nodes need no access to the cluster. For requests with node names only (nodeCacheCapable: true,
    recommended) use --kubeconfig or --in-cluster.

    \b
    Examples:
      A plugin behind the kube-scheduler on this machine:
        stowplan extender --plugin ./my.py:MyPlugin --port 8888
      Print the matching entry for the scheduler's configuration:
        stowplan config extender --plugin ./my.py:MyPlugin
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
    from stowplan.extender.server import build_settings, configuration, process

    logs.configure(logs.LogOptions(verbosity=ctx.find_root().params.get("verbosity", 0)))
    content, source = (None, "command line") if file is None else (read(file), shown(file))
    config = configuration.load(content, source, overrides(plugins, failure_policy, flags), _folder(file))
    sys.exit(process.serve(build_settings.assemble(config, load_plugin)))


def _folder(file: str | None) -> Path | None:
    return None if file in (None, "-") else Path(str(file)).parent


def overrides(plugins: Sequence[str], failure_policy: dict[str, str], flags: dict[str, Any]) -> dict[str, Any]:
    """The flags' values as a configuration document."""
    document: dict[str, Any] = {}
    if plugins:
        document["plugins"] = [{"plugin": plugin} for plugin in plugins]
    if failure_policy:
        document["failurePolicy"] = dict(failure_policy)
    for flag, value in flags.items():
        if value is None or value == ():
            continue
        *above, last = FLAGS[flag]
        place = document
        for name in above:
            place = place.setdefault(name, {})
        place[last] = list(value) if isinstance(value, tuple) else value
    return document


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

    Nodes of requests with names only are taken from the recording. The recording has no pods on nodes and no values of
    annotations and environment variables, so a plugin that reads these can differ for that reason alone. A recording
    made with --shadow has the replies that were sent, so every decision that shadow mode suppressed differs.

    \b
    Examples:
      stowplan extender replay requests.jsonl --plugin ./changed.py:MyPlugin

    Exit status: 0 all replies are equal, 1 some differ, 2 the file cannot be replayed.
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
            progress.start(f"replayed {total:,} requests")
            if outcome.differences:
                different += 1
                if different <= limit:
                    progress.write_line("\n  ".join((outcome.title, *outcome.differences)), err=False)
    if different > limit:
        click.echo(f"… and {different - limit} more")
    click.echo(f"{total} requests, {different} answered differently")
    sys.exit(1 if different else 0)
