from pathlib import Path
from typing import Any

import pytest

from stowplan.config.feature_gates import parse_gates
from stowplan.config.flags.command_line import CommandLine
from stowplan.config.flags.option_groups import (
    access_options,
    check_versions,
    log_options,
    metric_options,
    serving_options,
)
from stowplan.config.options import AccessOptions, MetricOptions, ServingOptions
from stowplan.errors import ConfigError
from stowplan.logs.log import LogOptions


def parsed(text: str) -> CommandLine:
    return CommandLine(text.split())


def logs_of(*arguments: str) -> LogOptions:
    line = CommandLine(arguments)
    return log_options(line, parse_gates(line["feature-gates"]))


def test_without_flags_all_groups_are_as_they_stand() -> None:
    line = CommandLine([])
    check_versions(line)
    assert serving_options(line) == ServingOptions()
    assert access_options(line) == AccessOptions()
    assert metric_options(line) == MetricOptions()
    assert logs_of() == LogOptions()


def test_serving() -> None:
    line = parsed(
        """--bind-address=::1 --secure-port=0 --tls-cert-file=c --tls-private-key-file=k --permit-port-sharing
        --tls-min-version=VersionTLS13 --tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"""
    )
    assert serving_options(line) == ServingOptions(
        address="::1",
        port=0,
        certificate_file="c",
        key_file="k",
        cipher_suites=("ECDHE-RSA-AES128-GCM-SHA256",),
        minimum_tls="VersionTLS13",
        share_port=True,
    )


def test_access() -> None:
    line = parsed(
        """--authentication-kubeconfig=a --authorization-kubeconfig=b --client-ca-file=c --authentication-skip-lookup
        --authentication-tolerate-lookup-failure=false --authentication-token-webhook-cache-ttl=1m
        --authorization-always-allow-paths=healthz,/metrics*"""
    )
    assert access_options(line) == AccessOptions(
        authentication_kubeconfig="a",
        authorization_kubeconfig="b",
        client_ca_file="c",
        look_up_client_ca=False,
        tolerate_lookup_failure=False,
        token_ttl=60.0,
        open_paths=("/healthz", "/metrics*"),
    )


def test_logs() -> None:
    assert logs_of("-v=3", "--vmodule=host=5") == LogOptions(verbosity=3, vmodule=(("host", 5),))
    assert logs_of("--logging-format=json").format == "json"
    assert logs_of("--log-text-split-stream", "--feature-gates=LoggingAlphaOptions=true").split_stream


def test_metrics(tmp_path: Path) -> None:
    line = CommandLine(["--disabled-metrics=a_total,b", "--allow-metric-labels=m_total,event=NodeAdd,PodAdd"])
    allowed = {("m_total", "event"): frozenset({"NodeAdd", "PodAdd"})}
    assert metric_options(line) == MetricOptions(disabled=frozenset({"a_total", "b"}), allowed_labels=allowed)


@pytest.mark.parametrize("text", ['"m_total,event": "NodeAdd"', 'allowListMapping:\n  "m_total,event": "NodeAdd"'])
def test_a_manifest_of_labels(tmp_path: Path, text: str) -> None:
    file = tmp_path / "labels.yaml"
    file.write_text(text)
    options = metric_options(CommandLine([f"--allow-metric-labels-manifest={file}"]))
    assert options.allowed_labels == {("m_total", "event"): frozenset({"NodeAdd"})}


@pytest.mark.parametrize(
    ("group", "argument", "problem"),
    [
        (serving_options, "--secure-port=70000", "--secure-port 70000 must be between 0 and 65535"),
        (serving_options, "--tls-min-version=foo", 'unknown tls version "foo"'),
        (serving_options, "--tls-cert-file=c", "--tls-cert-file and --tls-private-key-file go together"),
        (metric_options, "--show-hidden-metrics-for-version=1.20", "must be omitted or have the value '1.35'"),
        (metric_options, "--allow-metric-labels=foo=bar", "does not have the format metricName,labelName"),
        (metric_options, "--allow-metric-labels-manifest=/nowhere", "/nowhere: No such file or directory"),
        (metric_options, "--disabled-metrics=1x", "is not the full name of a metric"),
        (check_versions, "--emulated-version=foo", 'could not parse "foo" as version'),
        (
            check_versions,
            "--emulated-version=kube=1.34",
            "--emulated-version is not supported for 1.34: it can be 1.36",
        ),
        (check_versions, "--min-compatibility-version=1.20", "is not supported for 1.20"),
        (check_versions, "--emulated-version=wardle=1.2", "component not registered: wardle"),
    ],
)
def test_what_is_wrong(group: Any, argument: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        group(CommandLine([argument]))
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("--logging-format=xml", 'format: Invalid value: "xml": Unsupported log format'),
        ("--logging-format=json --vmodule=a=1", "vmodule: Forbidden: Only supported for text log format"),
        ("--log-text-split-stream", "options.text.splitStream: Forbidden: Feature LoggingAlphaOptions is disabled"),
        ("--log-flush-frequency=0s", 'flushFrequency: Invalid value: "0s": Must be greater than zero'),
        (
            "--logging-format=json --feature-gates=LoggingBetaOptions=false",
            "format: Forbidden: Log format json is disabled, see LoggingBetaOptions feature",
        ),
    ],
)
def test_what_is_wrong_with_logs(arguments: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        logs_of(*arguments.split())
    assert str(caught.value) == problem
