"""Metrics that every Kubernetes component has: build, process, feature gates, leader election.

Upstream: k8s.io/component-base/metrics, k8s.io/component-base/version, k8s.io/client-go/tools/leaderelection/metrics.go
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from prometheus_client import PlatformCollector, ProcessCollector

from stowplan._version import KUBERNETES_VERSION, __version__
from stowplan.config.releases import LATEST
from stowplan.observe.registry import ALPHA, BETA, INTERNAL, STABLE, MetricRegistry
from stowplan.observe.series import Labels, Reading, exponential

_PROC = Path("/proc/self")
_STARTED = time.time()

_HOURS = (0, 0.5, 1, 2, 6, 12, 24, 48, 96, 168, 720, 2160, 4320, 8640)


class _IdleMetric(NamedTuple):
    """A metric that never changes in a scheduler."""

    name: str
    stability: str
    help_text: str
    kind: str | tuple[float, ...]
    """counter, gauge, or the buckets of a histogram."""


_IDLE = (
    _IdleMetric(
        "aggregator_discovery_aggregation_count_total",
        ALPHA,
        "Counter of number of times discovery was aggregated",
        "counter",
    ),
    _IdleMetric(
        "aggregator_discovery_nopeer_requests_total",
        ALPHA,
        "Counter of number of times no-peer (non peer-aggregated) discovery was requested",
        "counter",
    ),
    _IdleMetric(
        "aggregator_discovery_peer_aggregated_cache_hits_total",
        ALPHA,
        "Counter of number of times discovery was served from peer-aggregated cache",
        "counter",
    ),
    _IdleMetric(
        "aggregator_discovery_peer_aggregated_cache_misses_total",
        ALPHA,
        "Counter of number of times discovery was aggregated across all API servers",
        "counter",
    ),
    _IdleMetric(
        "apiserver_audit_event_total",
        ALPHA,
        "Counter of audit events generated and sent to the audit backend.",
        "counter",
    ),
    _IdleMetric(
        "apiserver_audit_requests_rejected_total",
        ALPHA,
        "Counter of apiserver requests rejected due to an error in audit logging backend.",
        "counter",
    ),
    _IdleMetric(
        "apiserver_client_certificate_expiration_seconds",
        ALPHA,
        "Distribution of the remaining lifetime on the certificate used to authenticate a request.",
        tuple(hour * 3600.0 for hour in _HOURS),
    ),
    _IdleMetric(
        "apiserver_envelope_encryption_dek_cache_fill_percent",
        ALPHA,
        "Percent of the cache slots currently occupied by cached DEKs.",
        "gauge",
    ),
    _IdleMetric(
        "apiserver_storage_data_key_generation_duration_seconds",
        ALPHA,
        "Latencies in seconds of data encryption key(DEK) generation operations.",
        exponential(5e-06, 2, 14),
    ),
    _IdleMetric(
        "apiserver_storage_data_key_generation_failures_total",
        ALPHA,
        "Total number of failed data encryption key(DEK) generation operations.",
        "counter",
    ),
    _IdleMetric(
        "apiserver_storage_envelope_transformation_cache_misses_total",
        ALPHA,
        "Total number of cache misses while accessing key decryption key(KEK).",
        "counter",
    ),
    _IdleMetric(
        "apiserver_validation_declarative_validation_mismatch_total",
        BETA,
        "Number of times declarative validation results differed from handwritten validation results for core types.",
        "counter",
    ),
    _IdleMetric(
        "apiserver_validation_declarative_validation_panic_total",
        BETA,
        "Number of times declarative validation has panicked during validation.",
        "counter",
    ),
    _IdleMetric(
        "apiserver_validation_duplicate_validation_error_total",
        INTERNAL,
        "Number of duplicate validation errors during validation.",
        "counter",
    ),
    _IdleMetric(
        "apiserver_webhooks_x509_insecure_sha1_total",
        ALPHA,
        "Counts the number of requests to servers with insecure SHA1 signatures in their serving certificate "
        "OR the number of connection failures due to the insecure SHA1 signatures (either/or, based on the "
        "runtime environment)",
        "counter",
    ),
    _IdleMetric(
        "apiserver_webhooks_x509_missing_san_total",
        ALPHA,
        "Counts the number of requests to servers missing SAN extension in their serving certificate OR the "
        "number of connection failures due to the lack of x509 certificate SAN extension missing (either/or, "
        "based on the runtime environment)",
        "counter",
    ),
)
"""Metrics of the API server's libraries that kube-scheduler links and never feeds."""


def add_component_metrics(
    registry: MetricRegistry,
    features: Mapping[tuple[str, str], bool],
    leads: Callable[[], bool | None],
    emulated: str = LATEST.version,
) -> None:
    """`features` by (name, stage). `leads` returns whether this process leads, None without leader election.
    `emulated` is the release whose rules apply."""
    text = (
        "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 "
        "indicates master. 'name' is the string used to identify the lease. Please make sure to group by"
        " name."
    )
    registry.gauge("leader_election_master_status", ALPHA, text, ("name",), lambda: _leading(leads()))
    text = "This metric records the data about the stage and enablement of a k8s feature."
    enabled: Reading = {labels: float(on) for labels, on in features.items()}
    registry.gauge("kubernetes_feature_enabled", BETA, text, ("name", "stage"), lambda: enabled)
    _add_build(registry, emulated)
    _add_process(registry)
    _add_registry_metrics(registry)
    for metric in _IDLE:
        _add_idle(registry, metric)


def process_start_time() -> float:
    """Start of this process, in seconds since 1970."""
    try:
        ticks = int((_PROC / "stat").read_text().rpartition(")")[2].split()[19])
        booted = next(line for line in Path("/proc/stat").read_text().splitlines() if line.startswith("btime"))
        return float(booted.split()[1]) + ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, StopIteration):
        return _STARTED


def _leading(leads: bool | None) -> Reading:
    return {} if leads is None else {("kube-scheduler",): float(leads)}


def _add_build(registry: MetricRegistry, emulated: str) -> None:
    major, minor, _ = KUBERNETES_VERSION.removeprefix("v").split(".")
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    build = {
        "build_date": "",
        "compiler": platform.python_implementation().lower(),
        "git_commit": "",
        "git_tree_state": "",
        "git_version": f"{KUBERNETES_VERSION}+stowplan-{__version__}",
        "go_version": f"python{platform.python_version()}",
        "major": major,
        "minor": minor,
        "platform": f"{platform.system().lower()}/{machine}",
    }
    text = (
        "A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree "
        "state, build date, Go version, and compiler from which Kubernetes was built, and platform on "
        "which it is running."
    )
    _constant(registry, "kubernetes_build_info", BETA, text, build)
    version = {
        "binary": KUBERNETES_VERSION.removeprefix("v"),
        "component": "kube",
        "emulation": emulated,
        "min_compat": f"{major}.{int(emulated.partition('.')[2]) - 1}",
    }
    text = (
        "Provides the compatibility version info of the component. The component label is the name of "
        "the component, usually kube, but is relevant for aggregated-apiservers."
    )
    _constant(registry, "version_info", ALPHA, text, version)


def _constant(registry: MetricRegistry, name: str, stability: str, text: str, labels: Mapping[str, str]) -> None:
    values: Labels = tuple(labels.values())
    registry.gauge(name, stability, text, tuple(labels)).series(*values).set(1)


def _add_process(registry: MetricRegistry) -> None:
    ProcessCollector(registry=registry.others)
    PlatformCollector(registry=registry.others)
    if not _PROC.exists():
        return
    text = "Maximum amount of virtual memory available in bytes."
    registry.gauge("process_virtual_memory_max_bytes", "", text, (), _address_space)
    text = "Number of bytes received by the process over the network."
    registry.counter("process_network_receive_bytes_total", "", text, (), lambda: _network_bytes(0))
    text = "Number of bytes sent by the process over the network."
    registry.counter("process_network_transmit_bytes_total", "", text, (), lambda: _network_bytes(8))


def _address_space() -> Reading:
    lines = (_PROC / "limits").read_text().splitlines()
    limit = next((line.split()[3] for line in lines if line.startswith("Max address space")), "unlimited")
    return {(): 2.0**64 if limit == "unlimited" else float(limit)}


def _network_bytes(column: int) -> Reading:
    lines = (_PROC / "net" / "dev").read_text().splitlines()[2:]
    return {(): sum(float(line.partition(":")[2].split()[column]) for line in lines)}


def _add_registry_metrics(registry: MetricRegistry) -> None:
    """Metrics of the registry itself."""
    counter = registry.counter
    text = "The count of disabled metrics."
    counter("disabled_metrics_total", BETA, text, (), lambda: {(): len(registry.disabled)})
    counter("hidden_metrics_total", BETA, "The count of hidden metrics.")
    text = "The count of unexpected categorizations during cardinality enforcement."
    name = "cardinality_enforcement_unexpected_categorizations_total"
    counter(name, ALPHA, text, (), lambda: {(): registry.unexpected.value})
    text = "The count of registered metrics broken by stability level and deprecation version."
    labels = ("stability_level", "deprecated_version")
    counter("registered_metrics_total", BETA, text, labels, lambda: _by_stability(registry))


def _by_stability(registry: MetricRegistry) -> Reading:
    return {(level, ""): registry.stability.get(level, 0) for level in (ALPHA, BETA, STABLE, INTERNAL)}


def _add_idle(registry: MetricRegistry, metric: _IdleMetric) -> None:
    name, stability, text, kind = metric
    if isinstance(kind, tuple):
        registry.histogram(name, stability, text, kind)
    elif kind == "counter":
        registry.counter(name, stability, text)
    else:
        registry.gauge(name, stability, text)
