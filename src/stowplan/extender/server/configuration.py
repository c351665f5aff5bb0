"""ExtenderServerConfiguration: all that an extender server can be told in a file.

apiVersion: stowplan/v1alpha1
kind: ExtenderServerConfiguration
plugins:                         # each answers for the pods that its selector selects; filters are and-ed
- plugin: ./gpu.py:GPUShare      # a file, or package.module:Class
  args: {resource: example.com/gpu-memory}
  weight: 2                      # scores are averaged by weight
  selector:                      # all that is given must hold
    namespaces: [research]
    labels: {matchLabels: {team: vision}}
    resources: [example.com/gpu-memory]
    schedulerNames: [default-scheduler]
httpTimeout: 5s                  # the scheduler's: answers leave before it
failurePolicy: {filter: fail}    # fail, pass or cached; also for prioritize and preempt
serving: {bindAddress: 127.0.0.1, port: 8888, urlPrefix: /gpu}
verbs: {prioritize: priority}    # names that differ; "" switches a verb off
monitoring: {port: 9090}         # health, metrics and decisions on a port of their own
cluster: {kubeconfig: ""}        # for requests that only name nodes, for reservations and for bind
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from stowplan.config.duration import Duration
from stowplan.config.errors import InvalidConfigurationError, Problems
from stowplan.config.strict_decoding import decode_walking
from stowplan.config.text import parse
from stowplan.config.types import LeaderElection, Strict
from stowplan.extender.handlers import PodSelection

API_VERSION, KIND = "stowplan/v1alpha1", "ExtenderServerConfiguration"
FAILURE_POLICIES = ("fail", "pass", "cached")
GZIP = ("auto", "always", "never")
LEASE = "stowplan-extender"
_LARGEST_PORT = 65535


class PluginEntry(Strict, frozen=True, kw_only=True):
    """A plugin and what it is for."""

    plugin: str = ""
    name: str = ""
    """In place of the class's own."""
    args: dict[str, Any] = msgspec.field(default_factory=dict)
    weight: int = 1
    selector: PodSelection = PodSelection()


class TLS(Strict, frozen=True, kw_only=True):
    """HTTPS, where there is a certificate."""

    cert_file: str = ""
    key_file: str = ""
    client_ca_file: str = msgspec.field(default="", name="clientCAFile")
    """Clients must show a certificate of these authorities."""
    allowed_names: tuple[str, ...] = ()
    """The common or alternative names that such a certificate must bear one of."""


class Serving(Strict, frozen=True, kw_only=True):
    """What schedulers call."""

    bind_address: str = "127.0.0.1"
    port: int = 8888
    url_prefix: str = ""
    tls: TLS = TLS()
    max_body_bytes: int = 64 << 20
    gzip: str = "auto"
    """Whether large replies are compressed for clients that take it: not on the same machine, if "auto"."""
    drain: Duration = Duration.of_seconds(25)
    """How long requests under way may take when the server is to end."""


class Verbs(Strict, frozen=True, kw_only=True):
    """What the verbs are called."""

    filter: str = "filter"
    prioritize: str = "prioritize"
    preempt: str = "preempt"
    bind: str = "bind"


class FailurePolicy(Strict, frozen=True, kw_only=True):
    """What is answered where plugins fail or take too long."""

    filter: str = "fail"
    prioritize: str = "fail"
    preempt: str = "fail"


class Monitoring(Strict, frozen=True, kw_only=True):
    """What operators look at."""

    bind_address: str = ""
    port: int | None = None
    """None for the same port as the verbs'; 0, as for that one, for any that is free."""
    decisions: int = 256
    """How many are remembered."""
    decision_log: str = ""
    log_requests: bool = False
    record: str = ""
    keep_annotations: tuple[str, ...] = ()
    """Annotations whose values are not hidden in recordings."""


class ClusterAccess(Strict, frozen=True, kw_only=True):
    """The cluster that is scheduled, where the extender needs it."""

    kubeconfig: str = ""
    in_cluster: bool = False
    leader_election: LeaderElection = LeaderElection(leader_elect=False, resource_name=LEASE)


class ExtenderServerConfiguration(Strict, frozen=True, kw_only=True):
    """The whole file."""

    api_version: str = API_VERSION
    kind: str = KIND
    plugins: tuple[PluginEntry, ...] = ()
    http_timeout: Duration = Duration.of_seconds(5)
    failure_policy: FailurePolicy = FailurePolicy()
    shadow: bool = False
    own_pods: PodSelection | None = None
    """The extender's own pods, which it never rejects."""
    spare_critical: bool = False
    lower_case_replies: bool = False
    bare_names: bool = False
    """Whether requests that only name nodes are answered without a cache: of such nodes plugins see the name alone."""
    serving: Serving = Serving()
    verbs: Verbs = Verbs()
    monitoring: Monitoring = Monitoring()
    cluster: ClusterAccess = ClusterAccess()


def load(
    text: str | bytes | None, source: str, overrides: dict[str, Any], folder: Path | None = None
) -> ExtenderServerConfiguration:
    """A configuration from a file and from what was said besides, which comes first. Raises InvalidConfiguration.

    Where the file's folder is given, plugins that it names by a relative path are looked for there.
    """
    value, repeated = ({}, []) if text is None else parse(text, source)
    problems = Problems(repeated)
    if text is not None:
        _check_kind(value, problems)
        if folder is not None:
            _look_in(folder, value.get("plugins"))
    # Other defaults than a scheduler's, whose lease must not be taken.
    lease = {"cluster": {"leaderElection": {"leaderElect": False, "resourceName": LEASE}}}
    config = decode_walking(merged(merged(lease, value), overrides), ExtenderServerConfiguration, "$", problems)
    _check(config, problems)
    if problems.errors:
        raise InvalidConfigurationError(source, problems.errors)
    return config


def _look_in(folder: Path, entries: Any) -> None:
    for entry in entries if isinstance(entries, list) else ():
        plugin = entry.get("plugin") if isinstance(entry, dict) else None
        if isinstance(plugin, str) and plugin.startswith("."):
            entry["plugin"] = str(folder / plugin)


def merged(below: Any, above: Any) -> Any:
    """Objects member by member, lists one after the other; of anything else the second, if it is there."""
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
    if not config.plugins:
        problems.required("$.plugins", "name at least one plugin, e.g. --plugin ./my.py:MyPlugin")
    for index, entry in enumerate(config.plugins):
        path = f"$.plugins[{index}]"
        if not entry.plugin:
            problems.required(f"{path}.plugin", "package.module:Class or ./file.py:Class")
        if entry.weight < 1:
            problems.invalid(f"{path}.weight", entry.weight, "must be at least 1")
    for verb in FailurePolicy.__struct_fields__:
        chosen = getattr(config.failure_policy, verb)
        if chosen not in FAILURE_POLICIES:
            problems.unsupported(f"$.failurePolicy.{verb}", chosen, FAILURE_POLICIES)
    if config.http_timeout.seconds <= 0:
        problems.invalid("$.httpTimeout", str(config.http_timeout), "must be more than 0")
    _check_serving(config.serving, problems)
    if config.monitoring.decisions < 0:
        problems.invalid("$.monitoring.decisions", config.monitoring.decisions, "must be at least 0")
    if not 0 <= (config.monitoring.port or 0) <= _LARGEST_PORT:
        problems.invalid("$.monitoring.port", config.monitoring.port, f"must be between 0 and {_LARGEST_PORT}")


def _check_serving(serving: Serving, problems: Problems) -> None:
    if not 0 <= serving.port <= _LARGEST_PORT:
        problems.invalid("$.serving.port", serving.port, f"must be between 0 and {_LARGEST_PORT}")
    if serving.gzip not in GZIP:
        problems.unsupported("$.serving.gzip", serving.gzip, GZIP)
    if serving.max_body_bytes < 1:
        problems.invalid("$.serving.maxBodyBytes", serving.max_body_bytes, "must be at least 1")
    tls = serving.tls
    if bool(tls.cert_file) != bool(tls.key_file):
        missing = "keyFile" if tls.cert_file else "certFile"
        problems.required(f"$.serving.tls.{missing}", "a certificate and its key go together")
    if tls.client_ca_file and not tls.cert_file:
        problems.forbidden("$.serving.tls.clientCAFile", "client certificates need HTTPS: give certFile and keyFile")
    if tls.allowed_names and not tls.client_ca_file:
        problems.forbidden("$.serving.tls.allowedNames", "names are taken from client certificates: give clientCAFile")
