from operator import attrgetter

import pytest

from stowplan.config import default_configuration
from stowplan.config.flags.table import EARLIER, FLAGS, GROUPS
from stowplan.config.options import Options

KUBE_SCHEDULER = """
allow-metric-labels allow-metric-labels-manifest authentication-kubeconfig authentication-skip-lookup
authentication-token-webhook-cache-ttl authentication-tolerate-lookup-failure authorization-always-allow-paths
authorization-kubeconfig authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl
bind-address cert-dir client-ca-file config contention-profiling disable-http2-serving disabled-metrics
emulated-version feature-gates help http2-max-streams-per-connection kube-api-burst kube-api-content-type kube-api-qps
kubeconfig leader-elect leader-elect-lease-duration leader-elect-renew-deadline leader-elect-resource-lock
leader-elect-resource-name leader-elect-resource-namespace leader-elect-retry-period log-flush-frequency
log-json-info-buffer-size log-json-split-stream log-text-info-buffer-size log-text-split-stream logging-format master
min-compatibility-version permit-address-sharing permit-port-sharing pod-max-in-unschedulable-pods-duration profiling
requestheader-allowed-names requestheader-client-ca-file requestheader-extra-headers-prefix
requestheader-group-headers requestheader-uid-headers requestheader-username-headers secure-port
show-hidden-metrics-for-version tls-cert-file tls-cipher-suites tls-curve-preferences tls-min-version
tls-private-key-file tls-sni-cert-key v version vmodule write-config-to
"""
"""What `kube-scheduler --help` of v1.36.4 lists."""


def test_every_flag_of_kube_scheduler_is_there_and_those_about_plugins() -> None:
    own = {
        "plugin",
        "plugin-call-timeout",
        "max-namespace-share",
        "coscheduling",
        "kube-scheduler-group-behavior",
        "explain-events",
        "web",
        "extender-timeouts",
        "extender-hedge-after",
    }
    assert set(FLAGS) == {*KUBE_SCHEDULER.split(), *own, *EARLIER}


def test_no_flag_is_there_twice() -> None:
    assert sum(map(len, GROUPS.values())) == len(FLAGS)


@pytest.mark.parametrize("name", FLAGS)
def test_defaults_are_of_their_own_kind(name: str) -> None:
    flag = FLAGS[name]
    shown = flag.kind.show(flag.default)
    assert flag.kind.read(shown.strip("[]")) == flag.default


def test_every_flag_has_a_help_text() -> None:
    assert all(flag.help for flag in FLAGS.values())


@pytest.mark.parametrize("name", [name for name, flag in FLAGS.items() if flag.field and name not in EARLIER])
def test_a_flag_sets_its_option_and_has_its_default(name: str) -> None:
    flag = FLAGS[name]
    default = attrgetter(flag.field)(Options(config=default_configuration()))
    assert flag.kind.to_option(flag.default) == default
    assert [each.name for each in FLAGS.values() if each.field == flag.field and each.name not in EARLIER] == [name]
