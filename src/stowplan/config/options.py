"""Options of the scheduler process. Each option is declared here, once, with its default.

A row of `flags.table` names the field that its flag sets, as a path such as "serving.port", and takes the default from
here; `with_fields` fills the given flags in. Consumers take `Options` or one of its parts.

Upstream: cmd/kube-scheduler/app/options/options.go
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import msgspec

from stowplan.config import KubeSchedulerConfiguration
from stowplan.config.conversion import InsecureServing
from stowplan.config.extender_limits import ExtenderLimits
from stowplan.logs.log import LogOptions

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class ServingOptions:
    """Address, port and certificate of an HTTPS server."""

    address: str = "0.0.0.0"
    port: int = 10259
    """0 disables the server."""
    certificate_file: str = ""
    key_file: str = ""
    directory: str = ""
    """Directory of the certificate, created there if missing; empty keeps a generated certificate in memory."""
    cipher_suites: tuple[str, ...] = ()
    """OpenSSL's names; empty for its defaults."""
    minimum_tls: str = "VersionTLS12"
    share_port: bool = False
    """Whether other processes may listen on the same port (SO_REUSEPORT)."""


@dataclass(frozen=True, kw_only=True)
class AccessOptions:
    """Authentication and authorization of the server's clients."""

    authentication_kubeconfig: str = ""
    """The cluster that reviews tokens; without it all tokens are anonymous."""
    authorization_kubeconfig: str = ""
    """The cluster that reviews access; without it only `open_paths` are allowed."""
    client_ca_file: str = ""
    """Authorities of client certificates."""
    skip_lookup: bool = False
    """Whether client authorities are not looked up in the cluster when there is no file."""
    tolerate_lookup_failure: bool = True
    token_ttl: float = 10.0
    """Seconds, as the two below."""
    allowed_ttl: float = 10.0
    denied_ttl: float = 10.0
    open_paths: tuple[str, ...] = ("/healthz", "/readyz", "/livez")
    """Paths that need no authorization; a trailing * matches every suffix."""


@dataclass(frozen=True, kw_only=True)
class MetricOptions:
    """Disabled metrics and allow-lists of label values."""

    disabled: frozenset[str] = frozenset()
    allowed_labels: Mapping[tuple[str, str], frozenset[str]] = field(default_factory=dict)
    """Exposed values by (metric, label); other values become "unexpected"."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """All options of the scheduler process."""

    config: KubeSchedulerConfiguration
    """The effective configuration: the file's or the default one, with the flags that change it."""
    emulates: bool = False
    """Whether --emulated-version was given; otherwise the API server's version decides the release."""
    master: str = ""
    """Address of the API server; overrides the kubeconfig's."""
    write_config_to: str = ""
    serving: ServingOptions = ServingOptions()
    plain_http: InsecureServing = field(default_factory=InsecureServing)
    """Addresses of health and metrics pages without TLS, as earlier releases served them."""
    access: AccessOptions = AccessOptions()
    metrics: MetricOptions = MetricOptions()
    logs: LogOptions = field(default_factory=LogOptions)
    unschedulable_timeout: float = 300.0
    """Seconds that a pod stays in the unschedulable pods before it is retried without an event."""
    max_namespace_share: float = 0.2
    """Share of the scheduling loop's time for a namespace with expensive pods; 0 and 1 set no limit."""
    explain_events: bool = False
    """Whether events and conditions of pods without a node start with an explanation; a profile may override it."""
    coscheduling: bool = False
    """Whether PodGroups of scheduling.x-k8s.io/v1alpha1 are scheduled as gangs."""
    group_behavior: tuple[str, ...] = ()
    """Names of `GROUP_DIFFERENCES`."""
    web: bool = False
    """Whether the page is served at /ui/."""
    plugins: tuple[str, ...] = ()
    """Out-of-tree plugins: `file.py`, `file.py:Class` or `package.module:Class`."""
    plugin_call_timeout: float = 600.0
    """Seconds that an out-of-tree plugin's permit, pre_bind or bind may take."""
    extender_limits: ExtenderLimits = field(default_factory=ExtenderLimits)
    gates: Mapping[str, bool] = field(default_factory=dict)
    """All feature gates."""
    flags: Mapping[str, str] = field(default_factory=dict)
    """All flags with their values, for /flagz."""
    warnings: tuple[str, ...] = ()
    """Lines for the log."""
    print_and_exit: str = ""
    """help, version, raw, or a version to report, if the command line requests output instead of a scheduler."""


def with_fields(item: T, values: Mapping[str, Any]) -> T:
    """A copy of a dataclass or struct with the fields at these paths, such as "serving.port", replaced."""
    here: dict[str, Any] = {}
    below: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for path, value in values.items():
        name, _, rest = path.partition(".")
        if rest:
            below[name][rest] = value
        else:
            here[name] = value
    here |= {name: with_fields(getattr(item, name), inner) for name, inner in below.items()}
    if isinstance(item, msgspec.Struct):
        return msgspec.structs.replace(item, **here)
    return replace(item, **here)  # type: ignore[type-var]
