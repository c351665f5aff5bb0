"""Groups of flags that belong together, checked and turned into options."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from stowplan.config import Duration
from stowplan.config.flags.cipher_suites import TLS_VERSIONS, openssl_names
from stowplan.config.flags.command_line import CommandLine
from stowplan.config.options import AccessOptions, MetricOptions, ServingOptions
from stowplan.config.yaml_text import parse as parse_yaml
from stowplan.errors import ConfigError
from stowplan.logs.format import quote
from stowplan.logs.log import FORMATS, LogOptions

VERSION = "1.36"
PREVIOUS_VERSION = "1.35"

_COMPATIBLE = ("1.33", "1.34", "1.35", "1.36")
_VERSION = re.compile(r"v?([0-9]+\.[0-9]+)")
_METRIC = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_METRIC_LABEL = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*,[a-zA-Z_][a-zA-Z0-9_]*")


def check_versions(line: CommandLine) -> None:
    """There is one version that can be emulated, and it goes with all others that kube-scheduler's goes with."""
    for flag, possible in (("emulated-version", (VERSION,)), ("min-compatibility-version", _COMPATIBLE)):
        for item in line[flag]:
            component, _, text = item.rpartition("=")
            version = _VERSION.fullmatch(text)
            if component not in ("", "kube"):
                raise ConfigError(f"component not registered: {component}")
            if version is None:
                raise ConfigError(f"could not parse {quote(text)} as version")
            if version[1] not in possible:
                raise ConfigError(f"--{flag} is not supported for {text}: it can be {' or '.join(possible)}")


def serving_options(line: CommandLine) -> ServingOptions:
    port, minimum = line["secure-port"], line["tls-min-version"] or "VersionTLS12"
    if not 0 <= port <= 65535:
        raise ConfigError(f"--secure-port {port} must be between 0 and 65535, inclusive. 0 for turning off secure port")
    if minimum not in TLS_VERSIONS:
        raise ConfigError(f"unknown tls version {quote(minimum)}")
    if bool(line["tls-cert-file"]) != bool(line["tls-private-key-file"]):
        raise ConfigError("--tls-cert-file and --tls-private-key-file go together: one of them is missing")
    return ServingOptions(
        address=line["bind-address"],
        port=port,
        certificate_file=line["tls-cert-file"],
        key_file=line["tls-private-key-file"],
        directory=line["cert-dir"],
        cipher_suites=openssl_names(line["tls-cipher-suites"]),
        minimum_tls=minimum,
        share_port=line["permit-port-sharing"],
    )


def access_options(line: CommandLine) -> AccessOptions:
    return AccessOptions(
        authentication_kubeconfig=line["authentication-kubeconfig"],
        authorization_kubeconfig=line["authorization-kubeconfig"],
        client_ca_file=line["client-ca-file"],
        look_up_client_ca=not line["authentication-skip-lookup"],
        tolerate_lookup_failure=line["authentication-tolerate-lookup-failure"],
        token_ttl=line["authentication-token-webhook-cache-ttl"].seconds,
        allowed_ttl=line["authorization-webhook-cache-authorized-ttl"].seconds,
        denied_ttl=line["authorization-webhook-cache-unauthorized-ttl"].seconds,
        open_paths=tuple(f"/{path.lstrip('/')}" for path in line["authorization-always-allow-paths"]),
    )


def log_options(line: CommandLine, gates: Mapping[str, bool]) -> LogOptions:
    form: str = line["logging-format"]
    split, other = line[f"log-{'json' if form == 'json' else 'text'}-split-stream"], "LoggingAlphaOptions"
    if form not in FORMATS:
        raise ConfigError(f"format: Invalid value: {quote(form)}: Unsupported log format")
    if form == "json" and not gates["LoggingBetaOptions"]:
        raise ConfigError("format: Forbidden: Log format json is disabled, see LoggingBetaOptions feature")
    if form == "json" and line["vmodule"]:
        raise ConfigError("vmodule: Forbidden: Only supported for text log format")
    if line["log-flush-frequency"] <= Duration():
        shown = quote(str(line["log-flush-frequency"]))
        raise ConfigError(f"flushFrequency: Invalid value: {shown}: Must be greater than zero")
    if split and not gates[other]:
        raise ConfigError(f"options.{form}.splitStream: Forbidden: Feature {other} is disabled")
    return LogOptions(verbosity=line["v"], vmodule=line["vmodule"], format=form, split_stream=split)


def metric_options(line: CommandLine) -> MetricOptions:
    hidden = line["show-hidden-metrics-for-version"]
    if hidden not in ("", PREVIOUS_VERSION):
        raise ConfigError(
            f"metrics.showHiddenMetricsForVersion: Invalid value: {quote(hidden)}: must be omitted or have the value "
            f"'{PREVIOUS_VERSION}'; only the previous minor version is allowed"
        )
    for name in line["disabled-metrics"]:
        if not _METRIC.fullmatch(name):
            raise ConfigError(f"--disabled-metrics: {quote(name)} is not the full name of a metric")
    pairs = line["allow-metric-labels"]
    manifest = line["allow-metric-labels-manifest"]
    if pairs and manifest:
        raise ConfigError("--allow-metric-labels and --allow-metric-labels-manifest cannot both be given")
    allowed = _allowed_labels(_read_manifest(manifest) if manifest else pairs)
    return MetricOptions(disabled=frozenset(line["disabled-metrics"]), allowed_labels=allowed)


def _allowed_labels(pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], frozenset[str]]:
    allowed = {}
    for key, values in pairs:
        if not _METRIC_LABEL.fullmatch(key):
            raise ConfigError(f"--allow-metric-labels: {quote(key)} does not have the format metricName,labelName")
        metric, label = key.split(",")
        allowed[metric, label] = frozenset(values.split(","))
    return allowed


def _read_manifest(file: str) -> Iterable[tuple[str, str]]:
    """A map like that of the flag, by itself or under `allowListMapping`."""
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
