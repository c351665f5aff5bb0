"""What the flags of a scheduler come to, part by part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stowplan.config import KubeSchedulerConfiguration
from stowplan.config.conversion import InsecureServing
from stowplan.config.extender_limits import ExtenderLimits
from stowplan.config.serving_options import ServingOptions as ServingOptions
from stowplan.logs.log import LogOptions

ALWAYS_ALLOWED = ("/healthz", "/readyz", "/livez")


@dataclass(frozen=True, kw_only=True)
class AccessOptions:
    """Who may ask what of the server."""

    authentication_kubeconfig: str = ""
    """The cluster that tells whose a token is; without one, all tokens are nobody's."""
    authorization_kubeconfig: str = ""
    """The cluster that tells who may do what; without one, nobody may do what is not open to all."""
    client_ca_file: str = ""
    """Authorities whose client certificates are believed."""
    look_up_client_ca: bool = True
    """Whether to ask the cluster for them where there is no file."""
    tolerate_lookup_failure: bool = True
    token_ttl: float = 10.0
    allowed_ttl: float = 10.0
    denied_ttl: float = 10.0
    open_paths: tuple[str, ...] = ALWAYS_ALLOWED
    """Paths that everyone may read; one that ends in * stands for all that begin so."""


@dataclass(frozen=True, kw_only=True)
class MetricOptions:
    """Which metrics are told."""

    disabled: frozenset[str] = frozenset()
    allowed_labels: Mapping[tuple[str, str], frozenset[str]] = field(default_factory=dict)
    """By (metric, label), the values that are told; others become "unexpected"."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """All of it."""

    config: KubeSchedulerConfiguration
    """The effective configuration: the file's or the default one, with what flags may change in it."""
    master: str = ""
    """The API server's address where the command line gives one."""
    write_config_to: str = ""
    serving: ServingOptions = field(default_factory=ServingOptions)
    plain_http: InsecureServing = field(default_factory=InsecureServing)
    """Where health and metrics are served without TLS, as earlier releases did."""
    access: AccessOptions = AccessOptions()
    metrics: MetricOptions = MetricOptions()
    logs: LogOptions = field(default_factory=LogOptions)
    unschedulable_timeout: float = 300.0
    plugins: tuple[str, ...] = ()
    """Where to find users' plugins: `package.module:Class` or `file.py:Class`."""
    plugin_call_timeout: float = 600.0
    """Seconds that a method of theirs may take where it may wait at all."""
    patience: ExtenderLimits = field(default_factory=ExtenderLimits)
    """How long extenders may take."""
    gates: Mapping[str, bool] = field(default_factory=dict)
    """All feature gates."""
    flags: Mapping[str, str] = field(default_factory=dict)
    """All flags as they stand, for /flagz."""
    warnings: tuple[str, ...] = ()
    """What is worth a line in the log."""
    asked: str = ""
    """What is wanted instead of a scheduler: help, version, raw (all of it), or a version to pass for."""
