"""ExtenderServerConfiguration: every setting of an extender server, with its default and its flag.

apiVersion: stowplan/v1alpha1
kind: ExtenderServerConfiguration
plugins:                         # each for the pods that its selector selects; a node must pass all filters
- plugin: ./gpu.py:GPUShare      # a file, or package.module:Class
  args: {resource: example.com/gpu-memory}
  weight: 2                      # scores are averaged by weight
  selector:                      # all given conditions must hold
    namespaces: [research]
    labels: {matchLabels: {team: vision}}
    resources: [example.com/gpu-memory]
    schedulerNames: [default-scheduler]
httpTimeout: 5s                  # the scheduler's; replies are sent before it ends
failurePolicy: {filter: fail}    # fail, pass or cached; also for prioritize and preempt
serving: {bindAddress: 127.0.0.1, port: 8888, urlPrefix: /gpu}
verbs: {prioritize: priority}    # names that differ; "" disables a verb
monitoring: {port: 9090}         # health, metrics and decisions on a port of their own
cluster: {kubeconfig: ""}        # for requests that only name nodes, for reservations and for bind
"""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import Annotated, Any

import msgspec

from stowplan.config.duration import Duration
from stowplan.config.errors import InvalidConfigurationError, Problems
from stowplan.config.options import ServingOptions
from stowplan.config.strict_decoding import decode_walking
from stowplan.config.text import parse
from stowplan.config.types import LeaderElection, Strict
from stowplan.extender.flags import Flag, as_configuration
from stowplan.extender.policy import FailurePolicy, OperatorPolicy, PodSelection

API_VERSION, KIND = "stowplan/v1alpha1", "ExtenderServerConfiguration"
FAILURE_POLICIES = ("fail", "pass", "cached")
GZIP = ("auto", "always", "never")
LEASE = "stowplan-extender"
_MAX_PORT = 65535
_HOST_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?")


class PluginEntry(Strict, frozen=True, kw_only=True):
    """A plugin, its arguments, and the pods that it applies to."""

    plugin: str = ""
    name: str = ""
    """Instead of the class's own."""
    args: dict[str, Any] = msgspec.field(default_factory=dict)
    weight: int = 1
    selector: PodSelection = PodSelection()


class TLS(Strict, frozen=True, kw_only=True):
    """HTTPS, if there is a certificate."""

    cert_file: Annotated[
        str, Flag("--tls-cert-file", "Serve HTTPS with this certificate; reloaded when it changes.", "FILE")
    ] = ""
    key_file: Annotated[str, Flag("--tls-private-key-file", "Key of the certificate.", "FILE")] = ""
    client_ca_file: Annotated[
        str, Flag("--client-ca-file", "Require client certificates signed by these CAs.", "FILE")
    ] = msgspec.field(default="", name="clientCAFile")
    """Clients must present a certificate of these authorities."""
    allowed_names: Annotated[
        tuple[str, ...],
        Flag("--allowed-names", "Accept only clients with this common name or SAN; may be given again.", "NAME"),
    ] = ()
    """A client certificate must have one of these common or alternative names."""


class Serving(Strict, frozen=True, kw_only=True):
    """The port that schedulers call."""

    bind_address: Annotated[str, Flag("--bind-address", "Address to listen on.", "IP")] = "127.0.0.1"
    port: Annotated[int, Flag("--port", "Port to serve the verbs on.")] = 8888
    url_prefix: Annotated[
        str, Flag("--url-prefix", "Path before the verbs, as in the scheduler's urlPrefix.", "PATH")
    ] = ""
    allowed_hosts: Annotated[
        tuple[str, ...],
        Flag(
            "--allowed-host",
            "On a loopback address, also accept requests to this host name; may be given again.",
            "NAME",
        ),
    ] = ()
    """Names in `Host` and `Origin` that are accepted on a loopback address, besides localhost and addresses."""
    tls: TLS = TLS()
    max_body_bytes: Annotated[int, Flag("--max-body-size", "Maximum size of a request.", "BYTES")] = 64 << 20
    max_total_body_bytes: Annotated[
        int, Flag("--max-total-body-size", "Maximum size of all requests in memory together.", "BYTES")
    ] = 512 << 20
    max_connections: Annotated[int, Flag("--max-connections", "Maximum number of open connections.", "N")] = 1000
    gzip: Annotated[str, Flag("--gzip", "Compress large replies.", choices=GZIP)] = "auto"
    """Whether large replies are compressed for clients that accept it: not for local clients, if "auto"."""
    drain: Duration = Duration.of_seconds(25)
    """Time limit of requests in progress at shutdown; less than the 30 s that Kubernetes gives a pod to end."""

    @property
    def address(self) -> str:
        return "127.0.0.1" if self.bind_address == "localhost" else self.bind_address

    @property
    def other_hosts(self) -> frozenset[str]:
        """The allowed host names in the form in which requests are compared."""
        return frozenset(name.lower().rstrip(".") for name in self.allowed_hosts)

    @property
    def is_loopback(self) -> bool:
        try:
            return ipaddress.ip_address(self.address).is_loopback
        except ValueError:
            return False

    @property
    def options(self) -> ServingOptions:
        return ServingOptions(
            address=self.address, port=self.port, certificate_file=self.tls.cert_file, key_file=self.tls.key_file
        )


class Verbs(Strict, frozen=True, kw_only=True):
    """Names of the verbs; an empty name disables the verb."""

    filter: Annotated[str, Flag("--filter-verb", "Name of the filter verb; '' disables it.", "NAME")] = "filter"
    prioritize: Annotated[str, Flag("--prioritize-verb", "Name of the prioritize verb.", "NAME")] = "prioritize"
    preempt: Annotated[str, Flag("--preempt-verb", "Name of the preempt verb.", "NAME")] = "preempt"
    bind: Annotated[
        str, Flag("--bind-verb", "Name of the bind verb; it is disabled unless named, e.g. bind.", "NAME")
    ] = ""
    """Off by default: it binds pods for any client that reaches the port."""


class Monitoring(Strict, frozen=True, kw_only=True):
    """Pages and files for operators."""

    port: Annotated[int | None, Flag("--metrics-port", "Serve health, metrics and decisions on a separate port.")] = (
        None
    )
    """None for the port of the verbs; 0, as there, for any free port."""
    bind_address: Annotated[str, Flag("--metrics-bind-address", "Address of the metrics port.", "IP")] = ""
    decisions: Annotated[int, Flag("--decisions", "Number of decisions in /debug/decisions.", "N")] = 256
    """Number of decisions that are kept."""
    decision_log: Annotated[
        str,
        Flag("--decision-log", "Append every decision to this file of mode 0600 as a line of JSON.", "FILE"),
    ] = ""
    log_requests: Annotated[
        bool, Flag("--log-requests", "Log requests and replies, without fields that scheduling does not read.")
    ] = False
    record: Annotated[
        str,
        Flag(
            "--record",
            "Append every request to this file of mode 0600, without fields that scheduling does not read, for "
            "'stowplan extender replay'.",
            "FILE",
        ),
    ] = ""
    keep_annotations: Annotated[
        tuple[str, ...],
        Flag("--keep-annotation", "Keep this annotation in recordings; may be given again.", "KEY"),
    ] = ()
    """Annotations that stay in recordings."""


class ClusterAccess(Strict, frozen=True, kw_only=True):
    """Access to the cluster, for node names in requests, reservations and binding."""

    kubeconfig: Annotated[
        str,
        Flag("--kubeconfig", "Cluster for requests with node names only, reservations and binding.", "FILE"),
    ] = ""
    in_cluster: Annotated[bool, Flag("--in-cluster", "Use the cluster of $KUBECONFIG or of the service account.")] = (
        False
    )
    leader_election: Annotated[
        LeaderElection,
        Flag(
            "--leader-elect", "Elect a leader among replicas; only the leader keeps reservations.", member="leaderElect"
        ),
    ] = LeaderElection(leader_elect=False, resource_name=LEASE)


class ExtenderServerConfiguration(OperatorPolicy, frozen=True, kw_only=True):
    """The whole file."""

    api_version: str = API_VERSION
    kind: str = KIND
    plugins: tuple[PluginEntry, ...] = ()
    serving: Serving = Serving()
    verbs: Verbs = Verbs()
    monitoring: Monitoring = Monitoring()
    cluster: ClusterAccess = ClusterAccess()


def load(
    text: str | bytes | None,
    source: str,
    overrides: dict[str, Any],
    folder: Path | None = None,
    *,
    needs_plugins: bool = True,
) -> ExtenderServerConfiguration:
    """Decode a file, if any, and apply the overrides. Raises InvalidConfigurationError with every problem.

    Relative paths of plugins in the file are resolved against `folder`.
    """
    value, repeated = ({}, []) if text is None else parse(text, source)
    problems = Problems(repeated)
    if text is not None:
        _check_kind(value, problems)
        if folder is not None:
            _resolve_in(folder, value.get("plugins"))
    # The defaults differ from the scheduler's, whose lease the extender must not take.
    lease = {"cluster": {"leaderElection": {"leaderElect": False, "resourceName": LEASE}}}
    config = decode_walking(merged(merged(lease, value), overrides), ExtenderServerConfiguration, "$", problems)
    if needs_plugins and not config.plugins:
        problems.required("$.plugins", "name at least one plugin, e.g. --plugin ./my.py")
    _check(config, problems)
    if problems.errors:
        raise InvalidConfigurationError(source, problems.errors)
    return config


def from_options(**options: Any) -> ExtenderServerConfiguration:
    """A configuration from options named like the flags, for programs that pass the plugins themselves."""
    return load(None, "options", as_configuration(ExtenderServerConfiguration, options), needs_plugins=False)


def _resolve_in(folder: Path, entries: Any) -> None:
    for entry in entries if isinstance(entries, list) else ():
        plugin = entry.get("plugin") if isinstance(entry, dict) else None
        if isinstance(plugin, str) and plugin.startswith("."):
            entry["plugin"] = str(folder / plugin)


def merged(below: Any, above: Any) -> Any:
    """Objects are merged by member, lists concatenated; of other values `above` wins unless it is None."""
    if above is None:
        return below
    if isinstance(below, dict) and isinstance(above, dict):
        return {**below, **{key: merged(below.get(key), item) for key, item in above.items()}}
    if isinstance(below, list) and isinstance(above, list):
        return [*below, *above]
    return above


def _check_kind(value: dict[str, Any], problems: Problems) -> None:
    for field, wanted in (("apiVersion", API_VERSION), ("kind", KIND)):
        if value.get(field) != wanted:
            problems.unsupported(f"$.{field}", str(value.get(field, "")), (wanted,))


def _check(config: ExtenderServerConfiguration, problems: Problems) -> None:
    for index, entry in enumerate(config.plugins):
        path = f"$.plugins[{index}]"
        if not entry.plugin:
            problems.required(f"{path}.plugin", "./file.py, ./file.py:Class or package.module:Class")
        if entry.weight < 1:
            problems.invalid(f"{path}.weight", entry.weight, "must be at least 1")
    for verb in FailurePolicy.__struct_fields__:
        chosen = getattr(config.failure_policy, verb)
        if chosen not in FAILURE_POLICIES:
            problems.unsupported(f"$.failurePolicy.{verb}", chosen, FAILURE_POLICIES)
    if config.http_timeout is not None and config.http_timeout.seconds <= 0:
        problems.invalid("$.httpTimeout", str(config.http_timeout), "must be more than 0")
    _check_serving(config.serving, problems)
    _check_bind(config, problems)
    _check_address(config.serving.address, "$.serving.bindAddress", problems)
    if config.monitoring.bind_address:
        _check_address(config.monitoring.bind_address, "$.monitoring.bindAddress", problems)
    if config.monitoring.decisions < 0:
        problems.invalid("$.monitoring.decisions", config.monitoring.decisions, "must be at least 0")
    if not 0 <= (config.monitoring.port or 0) <= _MAX_PORT:
        problems.invalid("$.monitoring.port", config.monitoring.port, f"must be between 0 and {_MAX_PORT}")


def _check_bind(config: ExtenderServerConfiguration, problems: Problems) -> None:
    if config.verbs.bind and not config.serving.is_loopback and not config.serving.tls.client_ca_file:
        problems.forbidden(
            "$.verbs.bind",
            f"any client that reaches {config.serving.address} could bind pods: require client certificates "
            "(serving.tls.clientCAFile), or listen on 127.0.0.1",
        )
    if config.verbs.bind and not config.bind_scheduler_names:
        problems.required("$.bindSchedulerNames", "the schedulers whose pods are bound")


def _check_serving(serving: Serving, problems: Problems) -> None:
    if not 0 <= serving.port <= _MAX_PORT:
        problems.invalid("$.serving.port", serving.port, f"must be between 0 and {_MAX_PORT}")
    for index, name in enumerate(serving.allowed_hosts):
        if not _HOST_NAME.fullmatch(name):
            problems.invalid(f"$.serving.allowedHosts[{index}]", name, "must be a host name without a port")
    if serving.gzip not in GZIP:
        problems.unsupported("$.serving.gzip", serving.gzip, GZIP)
    if serving.max_body_bytes < 1:
        problems.invalid("$.serving.maxBodyBytes", serving.max_body_bytes, "must be at least 1")
    if serving.max_total_body_bytes < serving.max_body_bytes:
        problems.invalid(
            "$.serving.maxTotalBodyBytes", serving.max_total_body_bytes, "must be at least serving.maxBodyBytes"
        )
    if serving.max_connections < 1:
        problems.invalid("$.serving.maxConnections", serving.max_connections, "must be at least 1")
    tls = serving.tls
    if bool(tls.cert_file) != bool(tls.key_file):
        missing = "keyFile" if tls.cert_file else "certFile"
        problems.required(f"$.serving.tls.{missing}", "a certificate and its key go together")
    if tls.client_ca_file and not tls.cert_file:
        problems.forbidden("$.serving.tls.clientCAFile", "client certificates need HTTPS: give certFile and keyFile")
    if tls.allowed_names and not tls.client_ca_file:
        problems.forbidden("$.serving.tls.allowedNames", "names are taken from client certificates: give clientCAFile")


def _check_address(address: str, path: str, problems: Problems) -> None:
    try:
        ipaddress.ip_address(address)
    except ValueError:
        problems.invalid(path, address, "must be an IP address")
