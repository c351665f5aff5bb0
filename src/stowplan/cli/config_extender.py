"""`stowplan config extender`: prints kube-scheduler's configuration for plugins behind `stowplan extender`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from stowplan.cli.command import Command
from stowplan.cli.config_convert import output_option, show
from stowplan.cli.plugins import SPECIFICATION, load_plugin
from stowplan.config import Duration
from stowplan.config.conversion.api_versions import POLICY_KIND
from stowplan.config.types import GROUP, KIND
from stowplan.errors import ConfigError, PluginError

if TYPE_CHECKING:
    from stowplan.framework import Plugin
    from stowplan.runtime import Factory

_POLICY = "policy-v1"
CONFIG_VERSIONS = (_POLICY, "v1alpha2", "v1beta1", "v1beta2", "v1beta3", "v1")
_OLD_ENTRIES = (_POLICY, "v1alpha2")
"""Versions with `enableHttps` instead of `enableHTTPS`, and timeouts in nanoseconds."""


@click.command(cls=Command)
@click.option(
    "--plugin",
    "plugins",
    multiple=True,
    required=True,
    metavar="PLUGIN",
    help=f"Plugin that the extender serves: {SPECIFICATION}; may be given again.",
)
@click.option(
    "--config-version",
    "version",
    type=click.Choice(CONFIG_VERSIONS),
    default="v1",
    show_default=True,
    help="Version of the configuration.",
)
@click.option("--url-prefix", default="", metavar="URL", help="URL of the extender.  [default: http://127.0.0.1:8888]")
@click.option("--filter-verb", default="filter", show_default=True, metavar="NAME", help="Name of the filter verb.")
@click.option(
    "--prioritize-verb", default="prioritize", show_default=True, metavar="NAME", help="Name of the prioritize verb."
)
@click.option("--preempt-verb", default="preempt", show_default=True, metavar="NAME", help="Name of the preempt verb.")
@click.option("--bind-verb", default="bind", show_default=True, metavar="NAME", help="Name of the bind verb.")
@click.option("--weight", type=click.IntRange(1), default=1, show_default=True, help="Weight of the scores.")
@click.option("--http-timeout", default="5s", show_default=True, metavar="TIME", help="Timeout of each request.")
@click.option("--https", is_flag=True, help="Use HTTPS.")
@click.option("--ca-file", default="", metavar="FILE", help="CA of the extender's certificate; with --https.")
@click.option("--cert-file", default="", metavar="FILE", help="Client certificate; with --https.")
@click.option("--key-file", default="", metavar="FILE", help="Key of the client certificate.")
@click.option(
    "--node-names/--full-nodes",
    default=None,
    help="Send node names (nodeCacheCapable: true), which is faster, to an extender with --kubeconfig or --in-cluster; "
    "or whole nodes.  [default: whole nodes, unless a plugin reads the cluster or binds]",
)
@click.option("--ignorable", is_flag=True, help="Schedule pods even if the extender is unavailable.")
@click.option(
    "--managed-resource",
    "resources",
    multiple=True,
    metavar="NAME[=ignored]",
    help="Call the extender only for pods that request this resource; with '=ignored' the scheduler does not count it. "
    "May be given again.",
)
@output_option
def extender(plugins: tuple[str, ...], version: str, output: str, **wishes: Any) -> None:
    """Print the entry for kube-scheduler's configuration that calls 'stowplan extender' with these plugins.

    The verbs follow from the methods that the plugins implement: filter, score (prioritize), select_victims (preempt)
    and bind, which reserve and pre_bind need too; the extender serves bind only with --bind-verb. TLS files are paths
    on the scheduler's machine.

    \b
    Examples:
      stowplan config extender --plugin ./my.py:MyPlugin
      stowplan config extender --plugin ./my.py:MyPlugin --config-version v1beta1
    """
    kinds = [_class_of(specification, load_plugin(specification)) for specification in plugins]
    served = _served(plugins, kinds)
    if wishes["node_names"] is None:
        wishes["node_names"] = _needs_cluster(served, kinds)
    entry = _entry(served, wishes)
    head: dict[str, Any] = {"apiVersion": f"{GROUP}/{version}", "kind": KIND}
    if version == _POLICY:
        head = {"apiVersion": "v1", "kind": POLICY_KIND}
    show({**head, "extenders": [_as_written_in(version, entry)]}, output)


def _needs_cluster(served: Sequence[str], kinds: Sequence[type[Plugin]]) -> bool:
    """Whether the extender needs access to the cluster anyway, so that it can look up nodes by name."""
    from stowplan.extender.handlers.plugin_requirements import reads_cluster

    return "bind" in served or any(map(reads_cluster, kinds))


def _served(plugins: tuple[str, ...], kinds: Sequence[type[Plugin]]) -> list[str]:
    """The verbs that the plugins serve."""
    from stowplan.framework.extender import EXTENDER_VERBS
    from stowplan.framework.points import POINTS, extender_verbs, implements_point
    from stowplan.plugins.base import InTreePlugin

    verbs = set().union(*(extender_verbs(kind) for kind in kinds))
    served: list[str] = [verb for verb in EXTENDER_VERBS if verb in verbs]
    if not served:
        needed = "filter, score, select_victims or bind"
        raise PluginError(f"--plugin {plugins[0]}: an extender cannot serve it: {needed} is needed")
    reserving = [kind for kind in kinds if not issubclass(kind, InTreePlugin) or kind.reserves_by_default]
    for point in POINTS:
        if point.role == "needs" and point.verb and point.verb not in served:
            served += [point.verb] if any(implements_point(kind, point) for kind in reserving) else []
    return served


def _class_of(specification: str, factory: Factory) -> type[Plugin]:
    if not isinstance(factory, type):
        raise PluginError(f"--plugin {specification}: expected a class, since its methods determine the verbs")
    return factory


def _entry(served: list[str], wishes: dict[str, Any]) -> dict[str, Any]:
    """The entry of the extender in v1."""
    https: bool = wishes["https"]
    entry: dict[str, Any] = {"urlPrefix": wishes["url_prefix"] or f"http{'s' if https else ''}://127.0.0.1:8888"}
    _check_scheme(entry["urlPrefix"], https)
    for verb in served:
        entry[f"{verb}Verb"] = wishes[f"{verb}_verb"]
    if "prioritize" in served:
        entry["weight"] = wishes["weight"]
    tls = {"caFile": wishes["ca_file"], "certFile": wishes["cert_file"], "keyFile": wishes["key_file"]}
    entry |= {"enableHTTPS": https} if https else {}
    if any(tls.values()):
        entry["tlsConfig"] = {field: file for field, file in tls.items() if file}
    entry["httpTimeout"] = _timeout(wishes["http_timeout"])
    entry["nodeCacheCapable"] = wishes["node_names"]
    if wishes["resources"]:
        entry["managedResources"] = [_managed(resource) for resource in wishes["resources"]]
    entry |= {"ignorable": True} if wishes["ignorable"] else {}
    return entry


def _check_scheme(url: str, https: bool) -> None:
    expected = "https://" if https else "http://"
    if not url.startswith(expected):
        hint = "add --https" if url.startswith("https://") else f"it must begin with {expected}"
        raise ConfigError(f"--url-prefix {url}: {hint}")


def _timeout(text: str) -> Duration:
    try:
        return Duration.parse(text)
    except ValueError as error:
        raise ConfigError(f"--http-timeout: {error}") from error


def _managed(resource: str) -> dict[str, Any]:
    name, _, ignored = resource.partition("=")
    if ignored not in ("", "ignored"):
        raise ConfigError(f"--managed-resource {resource}: expected NAME or NAME=ignored")
    return {"name": name, "ignoredByScheduler": True} if ignored else {"name": name}


def _as_written_in(version: str, entry: dict[str, Any]) -> dict[str, Any]:
    timeout: Duration = entry["httpTimeout"]
    if version not in _OLD_ENTRIES:
        return {**entry, "httpTimeout": str(timeout)}
    spelt = {"enableHttps" if field == "enableHTTPS" else field: value for field, value in entry.items()}
    return {**spelt, "httpTimeout": timeout.nanoseconds}
