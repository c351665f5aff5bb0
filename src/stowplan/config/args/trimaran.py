"""Args of the plugins that score by measured load.

Upstream: sigs.k8s.io/scheduler-plugins/apis/config/types.go (TrimaranSpec)
"""

from typing import Self
from urllib.parse import urlsplit

import msgspec

from stowplan.api.meta import Int64, ResourceList
from stowplan.api.quantity import QuantityError, milli_value
from stowplan.config.args.in_tree import PluginArgs
from stowplan.config.errors import Problems
from stowplan.config.releases import LATEST, Release
from stowplan.config.types import Strict

METRICS_SERVER, PROMETHEUS, FILE = "KubernetesMetricsServer", "Prometheus", "File"
METRIC_PROVIDERS = (METRICS_SERVER, PROMETHEUS, FILE)
DEFAULT_MAX_AGE_SECONDS = 300
DEFAULT_CPU = "1000m"
DEFAULT_MULTIPLIER = "1.5"
DEFAULT_TARGET_PERCENT = 40
DEFAULT_WEIGHT = 0.5


class MetricProviderSpec(Strict, frozen=True, kw_only=True):
    """Where load metrics come from without a load-watcher."""

    type: str = METRICS_SERVER
    address: str = ""
    token: str = ""
    insecure_skip_verify: bool | None = None


class TrimaranArgs(PluginArgs, frozen=True, kw_only=True):
    """The source of load metrics, and how long they count."""

    watcher_address: str = ""
    metric_provider: MetricProviderSpec = MetricProviderSpec()
    max_metrics_age_seconds: Int64 = DEFAULT_MAX_AGE_SECONDS

    def completed(self) -> Self:
        given = self.metric_provider
        is_prometheus = given.type == PROMETHEUS
        skip = is_prometheus if given.insecure_skip_verify is None else given.insecure_skip_verify
        provider = msgspec.structs.replace(given, type=given.type or METRICS_SERVER, insecure_skip_verify=skip)
        return msgspec.structs.replace(self, metric_provider=provider)

    def redacted(self) -> Self:
        provider = self.metric_provider
        provider = msgspec.structs.replace(
            provider, token="REDACTED" if provider.token else "", address=without_password(provider.address)
        )
        watcher = without_password(self.watcher_address)
        return msgspec.structs.replace(self, metric_provider=provider, watcher_address=watcher)

    def check(self, path: str, problems: Problems, release: Release = LATEST) -> None:
        provider = self.metric_provider
        if self.max_metrics_age_seconds < 0:
            problems.invalid(f"{path}.maxMetricsAgeSeconds", self.max_metrics_age_seconds, "must not be negative")
        if self.watcher_address:
            _check_url(self.watcher_address, f"{path}.watcherAddress", problems)
            return
        if provider.type not in METRIC_PROVIDERS:
            detail = f"invalid MetricProvider.Type, got {provider.type}"
            problems.invalid(f"{path}.metricProvider.type", provider.type, detail)
        elif provider.type == PROMETHEUS:
            _check_url(provider.address, f"{path}.metricProvider.address", problems)
        elif provider.type == FILE and not provider.address:
            problems.required(f"{path}.metricProvider.address", "the path of a file")


def without_password(address: str) -> str:
    """A URL without user and password; any other text as it is."""
    scheme, separator, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}" if separator else address


def _check_url(address: str, path: str, problems: Problems) -> None:
    try:
        parts = urlsplit(address)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_url = False
    if not is_url:
        problems.invalid(path, address, "must be a URL with scheme http or https")


class TargetLoadPackingArgs(TrimaranArgs, frozen=True, kw_only=True):
    """The use that nodes are packed up to, and the use that is expected of pods."""

    default_requests: ResourceList = msgspec.field(default_factory=lambda: {"cpu": DEFAULT_CPU})
    default_requests_multiplier: str = DEFAULT_MULTIPLIER
    target_utilization: Int64 = DEFAULT_TARGET_PERCENT

    @property
    def default_milli_cpu(self) -> int:
        return milli_value(self.default_requests.get("cpu", 0))

    @property
    def multiplier(self) -> float:
        return float(self.default_requests_multiplier)

    def completed(self) -> Self:
        target = self.target_utilization if self.target_utilization > 0 else DEFAULT_TARGET_PERCENT
        return msgspec.structs.replace(
            super().completed(),
            default_requests=self.default_requests or {"cpu": DEFAULT_CPU},
            default_requests_multiplier=self.default_requests_multiplier or DEFAULT_MULTIPLIER,
            target_utilization=target,
        )

    def check(self, path: str, problems: Problems, release: Release = LATEST) -> None:
        super().check(path, problems, release)
        if self.target_utilization > 100:
            problems.invalid(f"{path}.targetUtilization", self.target_utilization, "must be at most 100")
        try:
            valid = 0 <= self.multiplier < float("inf")
        except ValueError:
            valid = False
        if not valid:
            problems.invalid(f"{path}.defaultRequestsMultiplier", self.default_requests_multiplier, "must be a number")
        try:
            milli_value(self.default_requests.get("cpu", 0))
        except QuantityError as problem:
            problems.invalid(f"{path}.defaultRequests", self.default_requests, str(problem))


class LoadVariationRiskBalancingArgs(TrimaranArgs, frozen=True, kw_only=True):
    """The weight of the standard deviation of the load."""

    safe_variance_margin: float = 1.0
    safe_variance_sensitivity: float = 1.0

    def completed(self) -> Self:
        margin, sensitivity = self.safe_variance_margin, self.safe_variance_sensitivity
        return msgspec.structs.replace(
            super().completed(),
            safe_variance_margin=1.0 if margin < 0 else margin,
            safe_variance_sensitivity=1.0 if sensitivity < 0 else sensitivity,
        )


class LowRiskOverCommitmentArgs(TrimaranArgs, frozen=True, kw_only=True):
    """The smoothing of the metrics, and the weight of limits against measured load, by resource."""

    smoothing_window_size: Int64 = 5
    risk_limit_weights: dict[str, float] = msgspec.field(
        default_factory=lambda: dict.fromkeys(("cpu", "memory"), DEFAULT_WEIGHT)
    )

    def completed(self) -> Self:
        given = self.risk_limit_weights
        weights = {name: given.get(name, DEFAULT_WEIGHT) for name in ("cpu", "memory")}
        weights = {name: weight if 0 <= weight <= 1 else DEFAULT_WEIGHT for name, weight in weights.items()}
        size = self.smoothing_window_size if self.smoothing_window_size > 0 else 5
        return msgspec.structs.replace(super().completed(), risk_limit_weights=weights, smoothing_window_size=size)
