from pathlib import Path

import pytest

from stowplan.config import default_configuration
from stowplan.config.flags.parsing import parse
from stowplan.config.options import AccessOptions, MetricOptions, Options, ServingOptions
from stowplan.errors import ConfigError
from stowplan.logs.log import LogOptions


def parsed(text: str) -> Options:
    return parse(text.split())


def logs_of(*arguments: str) -> LogOptions:
    return parse(arguments).logs


def test_without_flags_all_groups_are_as_they_stand() -> None:
    options = parse([])
    assert options.serving == ServingOptions()
    assert options.access == AccessOptions()
    assert options.metrics == MetricOptions()
    assert options.logs == LogOptions()
    assert options.config == default_configuration()


def test_serving() -> None:
    options = parsed(
        """--bind-address=::1 --secure-port=0 --tls-cert-file=c --tls-private-key-file=k --permit-port-sharing
        --tls-min-version=VersionTLS13 --tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"""
    )
    assert options.serving == ServingOptions(
        address="::1",
        port=0,
        certificate_file="c",
        key_file="k",
        cipher_suites=("ECDHE-RSA-AES128-GCM-SHA256",),
        minimum_tls="VersionTLS13",
        share_port=True,
    )


def test_access() -> None:
    options = parsed(
        """--authentication-kubeconfig=a --authorization-kubeconfig=b --client-ca-file=c --authentication-skip-lookup
        --authentication-tolerate-lookup-failure=false --authentication-token-webhook-cache-ttl=1m
        --authorization-always-allow-paths=healthz,/metrics*"""
    )
    assert options.access == AccessOptions(
        authentication_kubeconfig="a",
        authorization_kubeconfig="b",
        client_ca_file="c",
        skip_lookup=True,
        tolerate_lookup_failure=False,
        token_ttl=60.0,
        open_paths=("/healthz", "/metrics*"),
    )


def test_logs() -> None:
    assert logs_of("-v=3", "--vmodule=host=5") == LogOptions(verbosity=3, vmodule=(("host", 5),))
    assert logs_of("--logging-format=json").format == "json"
    assert logs_of("--log-text-split-stream", "--feature-gates=LoggingAlphaOptions=true").split_stream


def test_metrics(tmp_path: Path) -> None:
    options = parse(["--disabled-metrics=a_total,b", "--allow-metric-labels=m_total,event=NodeAdd,PodAdd"])
    allowed = {("m_total", "event"): frozenset({"NodeAdd", "PodAdd"})}
    assert options.metrics == MetricOptions(disabled=frozenset({"a_total", "b"}), allowed_labels=allowed)


@pytest.mark.parametrize("text", ['"m_total,event": "NodeAdd"', 'allowListMapping:\n  "m_total,event": "NodeAdd"'])
def test_a_manifest_of_labels(tmp_path: Path, text: str) -> None:
    file = tmp_path / "labels.yaml"
    file.write_text(text)
    options = parse([f"--allow-metric-labels-manifest={file}"])
    assert options.metrics.allowed_labels == {("m_total", "event"): frozenset({"NodeAdd"})}


@pytest.mark.parametrize(
    ("argument", "problem"),
    [
        ("--secure-port=70000", "--secure-port 70000 must be between 0 and 65535"),
        ("--tls-min-version=foo", 'unknown tls version "foo"'),
        ("--tls-cert-file=c", "--tls-cert-file and --tls-private-key-file go together"),
        ("--show-hidden-metrics-for-version=1.20", "must be omitted or have the value '1.35'"),
        ("--allow-metric-labels=foo=bar", "does not have the format metricName,labelName"),
        ("--allow-metric-labels-manifest=/nowhere", "/nowhere: No such file or directory"),
        ("--disabled-metrics=1x", "is not the full name of a metric"),
        ("--emulated-version=foo", 'could not parse "foo" as version'),
        ("--emulated-version=kube=1.32", "emulation version 1.32 is not between [1.33, 1.36]"),
        ("--emulated-version=1.37", "emulation version 1.37 is not between [1.33, 1.36]"),
        ("--emulated-version=1.34.4", "patch version not allowed, got: kube=1.34.4"),
        ("--emulated-version=1.34,kube=1.35", "duplicate version flag, kube=1.34 and kube=1.35"),
        ("--min-compatibility-version=1.20", "minCompatibilityVersion version 1.20 is not between [1.33, 1.36]"),
        ("--emulated-version=wardle=1.2", "component not registered: wardle"),
    ],
)
def test_what_is_wrong(argument: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse([argument])
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


@pytest.mark.parametrize(("value", "version"), [("1.33", "1.33"), ("kube=v1.34", "1.34"), ("1.36", "1.36")])
def test_an_earlier_release(value: str, version: str) -> None:
    options = parse([f"--emulated-version={value}"])
    assert (options.emulates, options.config.release.version) == (True, version)
    assert not parse([]).emulates


def test_the_compatible_version_is_bounded_by_the_emulated_one() -> None:
    with pytest.raises(ConfigError, match=r"minCompatibilityVersion version 1.35 is not between \[1.33, 1.34\]"):
        parse(["--emulated-version=1.34", "--min-compatibility-version=1.35"])


def test_the_release_decides_default_plugins() -> None:
    plugins = {
        version: {plugin.name: plugin.weight for plugin in config.profiles[0].plugins.multi_point.enabled}
        for version in ("1.33", "1.34", "1.35", "1.36")
        for config in [parse([f"--emulated-version={version}"]).config]
    }
    assert "DynamicResources" not in plugins["1.33"]
    assert [plugins[version]["DynamicResources"] for version in ("1.34", "1.35", "1.36")] == [0, 2, 2]
    assert ["NodeDeclaredFeatures" in found for found in plugins.values()] == [False, False, False, True]
