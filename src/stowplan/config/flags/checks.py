"""Checks of flags that concern more than one value.

Upstream: k8s.io/apiserver/pkg/server/options/serving.go, k8s.io/component-base/logs/api/v1/options.go,
k8s.io/component-base/metrics/options.go, k8s.io/component-base/compatibility/registry.go
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from stowplan.config import Duration
from stowplan.config.flags.command_line import CommandLine
from stowplan.config.flags.values import metric_labels
from stowplan.config.options import MetricOptions, Options, ServingOptions
from stowplan.config.releases import LATEST, OLDEST, RELEASES, Release
from stowplan.config.yaml_text import parse as parse_yaml
from stowplan.errors import ConfigError
from stowplan.logs import FORMATS, quote

PREVIOUS_VERSION = "1.35"
_COMPONENT = "kube"
_FLOOR = OLDEST.version
_VERSION = re.compile(r"v?([0-9]+)\.([0-9]+)((?:\.[0-9]+)*)")


def emulated_release(line: CommandLine, default: Release) -> Release:
    """The release of --emulated-version, else the default. Raises ConfigError in kube-scheduler's words."""
    release = parse_emulated_version(line["emulated-version"]) or default
    oldest = _kube_version(line["min-compatibility-version"])
    if oldest is not None:
        _check_between("minCompatibilityVersion version", oldest, release.version)
    return release


def parse_emulated_version(items: Iterable[str]) -> Release | None:
    """The release of values such as "1.34" or "kube=1.34"; None without a value."""
    version = _kube_version(items)
    if version is not None:
        _check_between("emulation version", version, LATEST.version)
    return None if version is None else RELEASES[version]


def _kube_version(items: Iterable[str]) -> str | None:
    """Major and minor number of the one component that there is."""
    found: dict[str, str] = {}
    for item in items:
        given, separator, text = item.partition("=")
        component, text = (given.strip(), text.strip()) if separator else (_COMPONENT, item)
        version = _VERSION.fullmatch(text)
        if version is None:
            raise ConfigError(f"could not parse {quote(text)} as version")
        if version[3].strip(".0"):
            raise ConfigError(f"patch version not allowed, got: {component}={text.removeprefix('v')}")
        short = f"{int(version[1])}.{int(version[2])}"
        if component in found:
            both = f"{component}={found[component]} and {component}={short}"
            raise ConfigError(f"duplicate version flag, {both}")
        found[component] = short
    for component in found:
        if component != _COMPONENT:
            raise ConfigError(f"component not registered: {component}")
    return found.get(_COMPONENT)


def _check_between(what: str, version: str, highest: str) -> None:
    numbers = [tuple(map(int, each.split("."))) for each in (_FLOOR, version, highest)]
    if numbers != sorted(numbers):
        raise ConfigError(f"{what} {version} is not between [{_FLOOR}, {highest}]")


def check_options(line: CommandLine, options: Options) -> None:
    _check_serving(options.serving)
    _check_logs(line, options)
    if options.plugin_call_timeout <= 0:
        raise ConfigError(f"--plugin-call-timeout {line['plugin-call-timeout']} must be greater than zero")
    if not 0 <= options.max_namespace_share <= 1:
        raise ConfigError(f"--max-namespace-share {line['max-namespace-share']:g} must be between 0 and 1, inclusive")
    if options.extender_limits.hedge_after < 0:
        raise ConfigError(f"--extender-hedge-after {line['extender-hedge-after']} must not be below zero")


def _check_serving(serving: ServingOptions) -> None:
    port = serving.port
    if not 0 <= port <= 65535:
        raise ConfigError(f"--secure-port {port} must be between 0 and 65535, inclusive. 0 for turning off secure port")
    if bool(serving.certificate_file) != bool(serving.key_file):
        raise ConfigError("--tls-cert-file and --tls-private-key-file go together: one of them is missing")


def _check_logs(line: CommandLine, options: Options) -> None:
    logs, alpha = options.logs, "LoggingAlphaOptions"
    if logs.format not in FORMATS:
        raise ConfigError(f"format: Invalid value: {quote(logs.format)}: Unsupported log format")
    if logs.format == "json" and not options.gates["LoggingBetaOptions"]:
        raise ConfigError("format: Forbidden: Log format json is disabled, see LoggingBetaOptions feature")
    if logs.format == "json" and logs.vmodule:
        raise ConfigError("vmodule: Forbidden: Only supported for text log format")
    if line["log-flush-frequency"] <= Duration():
        shown = quote(str(line["log-flush-frequency"]))
        raise ConfigError(f"flushFrequency: Invalid value: {shown}: Must be greater than zero")
    if logs.split_stream and not options.gates[alpha]:
        raise ConfigError(f"options.{logs.format}.splitStream: Forbidden: Feature {alpha} is disabled")


def metric_options(line: CommandLine, options: MetricOptions) -> MetricOptions:
    """The options with the allow-lists of --allow-metric-labels-manifest."""
    hidden = line["show-hidden-metrics-for-version"]
    if hidden not in ("", PREVIOUS_VERSION):
        raise ConfigError(
            f"metrics.showHiddenMetricsForVersion: Invalid value: {quote(hidden)}: must be omitted or have the value "
            f"'{PREVIOUS_VERSION}'; only the previous minor version is allowed"
        )
    manifest = line["allow-metric-labels-manifest"]
    if not manifest:
        return options
    if options.allowed_labels:
        raise ConfigError("--allow-metric-labels and --allow-metric-labels-manifest cannot both be given")
    return MetricOptions(disabled=options.disabled, allowed_labels=metric_labels(_read_manifest(manifest)))


def _read_manifest(file: str) -> Iterable[tuple[str, str]]:
    """A map like the flag's, by itself or under `allowListMapping`."""
    try:
        with open(file, encoding="utf-8") as opened:
            found = parse_yaml(opened.read())
    except OSError as error:
        raise ConfigError(f"--allow-metric-labels-manifest: {file}: {error.strerror}") from error
    except ValueError as error:
        raise ConfigError(f"--allow-metric-labels-manifest: {file}: {error}") from error
    found = found.get("allowListMapping", found) if isinstance(found, dict) else found
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise ConfigError(f"--allow-metric-labels-manifest: {file}: expected a map of text to text")
    return found.items()
