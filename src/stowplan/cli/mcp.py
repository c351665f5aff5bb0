"""`stowplan mcp`: explain, why-not, what-if and simulate as tools of an MCP server on standard input and output."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import click

from stowplan.cli.answers import DEFAULT_TOP
from stowplan.cli.command import Command
from stowplan.cli.state_options import StateRequest, state_options
from stowplan.errors import MissingExtraError, StowplanError

if TYPE_CHECKING:
    from stowplan.library import Cluster, Run

_MAX_STATE_AGE_SECONDS = 30.0
"""The objects of a cluster are read again when they are older."""
_MAX_LISTED_PODS = 200

_INSTRUCTIONS = """Answers about scheduling in Kubernetes: why pods are pending or on their nodes, what would change it.
All tools are read-only: they compute on a copy of the cluster's objects. `sentence` is the answer in words; reason ids
(`because.id`, `rules[].id`) are stable. Amounts are integers: millicores for cpu, bytes for memory, counts otherwise.
A pod is named namespace/name; other objects are node-1, zone=a (nodes with the label), namespace/Deployment/web."""


class RemoteStateError(StowplanError):
    """The question needs the objects of the cluster, which a running scheduler does not give."""


@click.command(cls=Command)
@state_options
def mcp(request: StateRequest) -> None:
    """Serve explain, why-not, what-if and simulate to agents over MCP, on standard input and output.

    The tools answer about the state that the options name, and are read-only: nothing is written to a cluster. The
    objects of --from-cluster are read again when they are older than 30 seconds. A running scheduler (--from URL)
    answers explain and why-not only. Needs the package mcp.

    \b
    Examples:
      stowplan mcp --from-cluster --context production
      stowplan mcp --from snapshot.json.gz
      stowplan mcp --from https://10.0.0.7:10259

    Exit status: 0 the client disconnected, 2 the input is invalid.
    """
    request.check_usage()
    server = make_server(McpTools(request))
    server.run("stdio")


class McpTools:
    """The tools. Each returns plain data; a StowplanError becomes an error of the tool."""

    def __init__(self, request: StateRequest, clock: Callable[[], float] = time.monotonic) -> None:
        from stowplan.cli.plugins import load_plugins
        from stowplan.cli.profiles import load_config
        from stowplan.config.releases import LATEST

        self._request = request
        self._clock = clock
        self._plugins = load_plugins(request.plugins)
        self._remote = request.remote()
        release = LATEST if self._remote is not None else request.effective_release()
        self._config = load_config(request.config_file, self._plugins, release)
        self._cluster = read_state(request) if self._remote is None else None
        self._read_at = clock()

    def explain(self, pod: str = "") -> dict[str, Any]:
        """Why a pod is pending (the dominating reason, closest nodes, checked changes), or why it is on its node.
        Without a pod: all pending pods, grouped by the sentence that explains them."""
        if self._remote is not None:
            namespace = self._request.namespace
            if not pod:
                return _plain(self._remote.pending(namespace))
            return _plain(self._remote.explain(pod, namespace or self._remote.namespace, DEFAULT_TOP))
        cluster = self._current()
        if not pod:
            return _plain(cluster.explain_pending(plugins=self._plugins, config=self._config))
        return _plain(cluster.explain(pod, plugins=self._plugins, config=self._config))

    def why_not(self, pod: str, node: str) -> dict[str, Any]:
        """Why a pod is not on one node: every rule, its requirement and the state of the node. If it is feasible: its
        rank and the points behind the best."""
        if self._remote is not None:
            return _plain(self._remote.why_not(pod, self._request.namespace or self._remote.namespace, node))
        return _plain(self._current().why_not(pod, node, plugins=self._plugins, config=self._config))

    def what_if(
        self,
        drain: list[str] | None = None,
        fail: list[str] | None = None,
        add_nodes: int = 0,
        like: str = "",
        scale: dict[str, int] | None = None,
        delete: list[str] | None = None,
        apply: str = "",
        fit: str = "",
        enough: str = "",
    ) -> dict[str, Any]:
        """What changes if nodes are drained or fail, if `add_nodes` nodes like the node `like` are added, if workloads
        are scaled (name to replicas), objects are deleted, or manifests (YAML) are applied. `fit`: how many more
        replicas of a workload fit; `enough`: how many nodes like this one are needed for all pending pods."""
        answer = self._current().what_if(
            drain=drain or (),
            fail=fail or (),
            add_nodes=add_nodes,
            like=like,
            scale=scale or {},
            delete=delete or (),
            apply=[apply] if apply else (),
            fit=fit or None,
            enough=enough or (),
            plugins=self._plugins,
            config=self._config,
        )
        return {**_plain(answer), "moved": [_plain(pod) for pod in answer.moved[:_MAX_LISTED_PODS]]}

    def simulate(self, manifests: str = "") -> dict[str, Any]:
        """Where the pending pods, and the pods of `manifests` (YAML) if they were applied, would be scheduled."""
        cluster = self._current()
        before = {pod.metadata.uid for pod in cluster.pods if pod.spec.node_name}
        changed = cluster.apply(manifests) if manifests else cluster
        return _result(changed.simulate(plugins=self._plugins, config=self._config), len(before))

    def _current(self) -> Cluster:
        if self._cluster is None:
            raise RemoteStateError("a running scheduler answers explain and why_not only; use a snapshot")
        if self._request.from_cluster and self._clock() - self._read_at > _MAX_STATE_AGE_SECONDS:
            self._cluster = read_state(self._request)
            self._read_at = self._clock()
        return self._cluster


def _result(run: Run, running: int) -> dict[str, Any]:
    new = [pod for pod in run.pods if pod.status != "Running"]
    return {
        "summary": _plain(run.summary),
        "pods": [{"pod": pod.pod, "status": pod.status, "node": pod.node} for pod in new[:_MAX_LISTED_PODS]],
        "scheduled": len(new),
        "runningBefore": running,
        "pending": [_plain(group) for group in run.pending],
        "preemptions": [_plain(each) for each in run.preemptions],
    }


def _plain(record: Any) -> dict[str, Any]:
    import msgspec

    result: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(record))
    return result


def read_state(request: StateRequest) -> Cluster:
    """The cluster that the options name, as a value of the library."""
    from stowplan.library import Cluster

    files = [Path(name) for name in request.names]
    namespace = request.namespace
    if request.from_cluster:
        cluster = Cluster.from_cluster(kubeconfig=request.kubeconfig, context=request.context, namespace=namespace)
        return cluster.apply(*files) if files else cluster
    if request.origin or (request.base and _is_snapshot(request.base)):
        cluster = Cluster.from_snapshot(request.origin or request.base, namespace=namespace)
        return cluster.apply(*files) if files else cluster
    names = [*([request.base] if request.base else []), *request.names]
    return Cluster.from_files(*names, namespace=namespace or "default")


def _is_snapshot(name: str) -> bool:
    from stowplan.cli.streams import peek
    from stowplan.simulator.input.snapshot_file import is_snapshot

    return is_snapshot(peek(name, 64))


def _reporting(tool: Callable[..., Any], error: type[Exception], turn: Lock) -> Callable[..., Any]:
    """The tool with errors that are meant for the user as errors that the client shows. Tools run on threads, and take
    turns, since answers use the what-if journal of one cluster."""

    @wraps(tool)
    def reporting(*args: Any, **arguments: Any) -> Any:
        try:
            with turn:
                return tool(*args, **arguments)
        except StowplanError as problem:
            raise error(str(problem)) from problem

    return reporting


def make_server(tools: McpTools) -> Any:
    """The MCP server with its tools. The package is imported by name, since it is optional."""
    from stowplan._version import __version__

    try:
        server = importlib.import_module("mcp.server.mcpserver")
        exceptions = importlib.import_module("mcp.server.mcpserver.exceptions")
        types = importlib.import_module("mcp.types")
    except ImportError as error:
        raise MissingExtraError("this command needs the package mcp", "mcp") from error
    made = server.MCPServer("stowplan", instructions=_INSTRUCTIONS, version=__version__, log_level="WARNING")
    turn = Lock()
    hints = types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    for tool in (tools.explain, tools.why_not, tools.what_if, tools.simulate):
        about = " ".join((tool.__doc__ or "").split())
        made.add_tool(_reporting(tool, exceptions.ToolError, turn), description=about, annotations=hints)
    return made
