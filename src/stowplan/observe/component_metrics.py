"""Metrics that every component of Kubernetes has: its build, its process, its features, who leads."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from prometheus_client import PlatformCollector, ProcessCollector

from stowplan._version import KUBERNETES_VERSION, __version__
from stowplan.observe.registry import ALPHA, BETA, INTERNAL, STABLE, MetricRegistry
from stowplan.observe.series import Labels, Reading, exponential

_PROC = Path("/proc/self")
_STARTED = time.time()

_HOURS = (0, 0.5, 1, 2, 6, 12, 24, 48, 96, 168, 720, 2160, 4320, 8640)

_IDLE: dict[str, str | tuple[float, ...]] = {
    "aggregator_discovery_aggregation_count_total": "counter",
    "aggregator_discovery_nopeer_requests_total": "counter",
    "aggregator_discovery_peer_aggregated_cache_hits_total": "counter",
    "aggregator_discovery_peer_aggregated_cache_misses_total": "counter",
    "apiserver_audit_event_total": "counter",
    "apiserver_audit_requests_rejected_total": "counter",
    "apiserver_client_certificate_expiration_seconds": tuple(hour * 3600.0 for hour in _HOURS),
    "apiserver_envelope_encryption_dek_cache_fill_percent": "gauge",
    "apiserver_storage_data_key_generation_duration_seconds": exponential(5e-06, 2, 14),
    "apiserver_storage_data_key_generation_failures_total": "counter",
    "apiserver_storage_envelope_transformation_cache_misses_total": "counter",
    "apiserver_validation_declarative_validation_mismatch_total": "counter",
    "apiserver_validation_declarative_validation_panic_total": "counter",
    "apiserver_validation_duplicate_validation_error_total": "counter",
    "apiserver_webhooks_x509_insecure_sha1_total": "counter",
    "apiserver_webhooks_x509_missing_san_total": "counter",
}
"""What kube-scheduler carries along with the API server's libraries, by kind or by buckets. None of it ever moves."""


def add_component_metrics(
    registry: MetricRegistry, features: Mapping[tuple[str, str], bool], leads: Callable[[], bool | None]
) -> None:
    """`features` by (name, stage). `leads` says whether this one leads, None where nobody is elected."""
    text = "Whether this one leads, by the name of the election."
    registry.gauge("leader_election_master_status", ALPHA, text, ("name",), lambda: _leading(leads()))
    text = "Whether a feature is on, by its stage."
    enabled: Reading = {labels: float(on) for labels, on in features.items()}
    registry.gauge("kubernetes_feature_enabled", BETA, text, ("name", "stage"), lambda: enabled)
    _add_build(registry)
    _add_process(registry)
    _add_registry_metrics(registry)
    for name, kind in _IDLE.items():
        _add_idle(registry, name, kind)


def process_start_time() -> float:
    """When this process began, in seconds since 1970."""
    try:
        ticks = int((_PROC / "stat").read_text().rpartition(")")[2].split()[19])
        booted = next(line for line in Path("/proc/stat").read_text().splitlines() if line.startswith("btime"))
        return float(booted.split()[1]) + ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, StopIteration):
        return _STARTED


def _leading(leads: bool | None) -> Reading:
    return {} if leads is None else {("kube-scheduler",): float(leads)}


def _add_build(registry: MetricRegistry) -> None:
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
    _constant(registry, "kubernetes_build_info", BETA, "What was built, and for what.", build)
    version = {
        "binary": KUBERNETES_VERSION.removeprefix("v"),
        "component": "kube",
        "emulation": f"{major}.{minor}",
        "min_compat": f"{major}.{int(minor) - 1}",
    }
    _constant(registry, "version_info", ALPHA, "The versions of Kubernetes that this goes with.", version)


def _constant(registry: MetricRegistry, name: str, stability: str, text: str, labels: Mapping[str, str]) -> None:
    values: Labels = tuple(labels.values())
    registry.gauge(name, stability, text, tuple(labels)).series(*values).set(1)


def _add_process(registry: MetricRegistry) -> None:
    ProcessCollector(registry=registry.others)
    PlatformCollector(registry=registry.others)
    if not _PROC.exists():
        return
    text = "Largest virtual memory that the process may have, in bytes."
    registry.gauge("process_virtual_memory_max_bytes", ALPHA, text, (), _address_space)
    text = "Bytes that came in over all interfaces that the process sees."
    registry.counter("process_network_receive_bytes_total", ALPHA, text, (), lambda: _network_bytes(0))
    text = "Bytes that went out over all interfaces that the process sees."
    registry.counter("process_network_transmit_bytes_total", ALPHA, text, (), lambda: _network_bytes(8))


def _address_space() -> Reading:
    lines = (_PROC / "limits").read_text().splitlines()
    limit = next((line.split()[3] for line in lines if line.startswith("Max address space")), "unlimited")
    return {(): 2.0**64 if limit == "unlimited" else float(limit)}


def _network_bytes(column: int) -> Reading:
    lines = (_PROC / "net" / "dev").read_text().splitlines()[2:]
    return {(): sum(float(line.partition(":")[2].split()[column]) for line in lines)}


def _add_registry_metrics(registry: MetricRegistry) -> None:
    """Metrics about the metrics."""
    counter = registry.counter
    text = "Metrics that are disabled."
    counter("disabled_metrics_total", BETA, text, (), lambda: {(): len(registry.disabled)})
    counter("hidden_metrics_total", BETA, "Metrics that are hidden.")
    text = "Label values that were not on the list of those allowed."
    name = "cardinality_enforcement_unexpected_categorizations_total"
    counter(name, ALPHA, text, (), lambda: {(): registry.unexpected.value})
    text, labels = "Metrics by how far they may be relied upon.", ("stability_level", "deprecated_version")
    counter("registered_metrics_total", BETA, text, labels, lambda: _by_stability(registry))


def _by_stability(registry: MetricRegistry) -> Reading:
    return {(level, ""): registry.stability.get(level, 0) for level in (ALPHA, BETA, STABLE, INTERNAL)}


def _add_idle(registry: MetricRegistry, name: str, kind: str | tuple[float, ...]) -> None:
    text = "Always zero in a scheduler."
    if isinstance(kind, tuple):
        registry.histogram(name, ALPHA, text, kind)
    elif kind == "counter":
        registry.counter(name, ALPHA, text)
    else:
        registry.gauge(name, ALPHA, text)
