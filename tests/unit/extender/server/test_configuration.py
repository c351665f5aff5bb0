from pathlib import Path
from typing import Any

import pytest

from stowplan.config.duration import Duration
from stowplan.config.errors import InvalidConfigurationError
from stowplan.extender.policy import FailurePolicy
from stowplan.extender.server import configuration
from stowplan.extender.server.configuration import Verbs, from_options, load

HEAD = "apiVersion: stowplan/v1alpha1\nkind: ExtenderServerConfiguration\n"

FULL = (
    HEAD
    + """
plugins:
- plugin: ./gpu.py:GPUShare
  name: GPU
  args: {resource: example.com/gpu-memory}
  weight: 2
  selector:
    namespaces: [research]
    labels: {matchLabels: {team: vision}}
    resources: [example.com/gpu-memory]
    schedulerNames: [default-scheduler]
- plugin: rack:Rack
httpTimeout: 1500ms
failurePolicy: {filter: pass, preempt: cached}
shadow: true
spareCritical: true
lowerCaseReplies: true
ownPods: {labels: {matchLabels: {app: extender}}}
serving:
  bindAddress: 0.0.0.0
  port: 9999
  urlPrefix: /gpu
  maxBodyBytes: 1000
  gzip: always
  drain: 3s
  tls: {certFile: a.crt, keyFile: a.key, clientCAFile: ca.crt, allowedNames: [kube-scheduler]}
verbs: {prioritize: priority, bind: ""}
monitoring: {port: 9090, decisions: 5, decisionLog: d.jsonl, logRequests: true, record: r.jsonl, keepAnnotations: [gpu]}
cluster: {kubeconfig: k.yaml, leaderElection: {leaderElect: true, resourceName: mine}}
"""
)


def problems(text: str | None, **overrides: Any) -> list[str]:
    with pytest.raises(InvalidConfigurationError) as caught:
        load(text, "x.yaml", overrides)
    return list(caught.value.problems)


def test_everything_gets_to_its_place() -> None:
    config = load(FULL, "x.yaml", {})
    first, second = config.plugins
    assert (first.plugin, first.name, first.weight) == ("./gpu.py:GPUShare", "GPU", 2)
    assert first.args == {"resource": "example.com/gpu-memory"}
    assert first.selector.namespaces == ("research",)
    assert first.selector.labels.match_labels == {"team": "vision"}
    assert (second.plugin, second.weight) == ("rack:Rack", 1)
    assert config.failure_policy == FailurePolicy(filter="pass", prioritize="fail", preempt="cached")
    assert config.http_timeout is not None
    assert (config.http_timeout.seconds, config.shadow, config.spare_critical) == (1.5, True, True)
    assert config.lower_case_replies
    assert config.own_pods is not None
    serving, tls = config.serving, config.serving.tls
    assert (serving.options.address, serving.options.port) == ("0.0.0.0", 9999)
    assert (serving.options.certificate_file, serving.options.key_file) == ("a.crt", "a.key")
    assert (tls.client_ca_file, tls.allowed_names) == ("ca.crt", ("kube-scheduler",))
    assert (serving.url_prefix, config.verbs) == ("/gpu", Verbs(prioritize="priority", bind=""))
    assert (serving.max_body_bytes, serving.gzip, serving.drain.seconds) == (1000, "always", 3.0)
    monitoring = config.monitoring
    assert (monitoring.port, monitoring.bind_address) == (9090, "")
    assert (monitoring.decisions, monitoring.decision_log, monitoring.log_requests) == (5, "d.jsonl", True)
    assert (monitoring.record, monitoring.keep_annotations, config.cluster.kubeconfig) == (
        "r.jsonl",
        ("gpu",),
        "k.yaml",
    )
    lease = config.cluster.leader_election
    assert lease.leader_elect
    assert (lease.resource_name, lease.resource_namespace) == ("mine", "kube-system")


def test_without_a_file() -> None:
    config = load(None, "command line", {"plugins": [{"plugin": "x:Y"}]})
    options = config.serving.options
    assert (options.address, options.port, config.monitoring.port) == ("127.0.0.1", 8888, None)
    assert config.serving.max_body_bytes == 64 << 20
    assert config.http_timeout == Duration.of_seconds(5)
    assert not config.cluster.leader_election.leader_elect


def test_what_is_said_besides_comes_first() -> None:
    said = {"plugins": [{"plugin": "x:Y"}], "serving": {"port": 1}, "shadow": True}
    config = load(HEAD + "plugins: [{plugin: a:B}]\nserving: {port: 2, urlPrefix: /p}\n", "x.yaml", said)
    assert [entry.plugin for entry in config.plugins] == ["a:B", "x:Y"]
    assert (config.serving.port, config.serving.url_prefix, config.shadow) == (1, "/p", True)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("plugins: [{plugin: a:B, weights: 2}]", '$.plugins[0].weights: unknown field (did you mean "weight"?)'),
        ("plugins: [{plugin: a:B}]\nverbs: {filters: x}", '$.verbs.filters: unknown field (did you mean "filter"?)'),
        ("plugins: [{plugin: a:B, weight: 0}]", "$.plugins[0].weight: Invalid value: 0: must be at least 1"),
        ("plugins: [{}]", "$.plugins[0].plugin: Required value: ./file.py, ./file.py:Class or package.module:Class"),
        ("plugins: []", "$.plugins: Required value: name at least one plugin, e.g. --plugin ./my.py"),
        (
            "plugins: [{plugin: a:B}]\nfailurePolicy: {filter: maybe}",
            '$.failurePolicy.filter: Unsupported value: "maybe": supported values: "fail", "pass", "cached"',
        ),
        ("plugins: [{plugin: a:B}]\nhttpTimeout: 5", "$.httpTimeout: expected a duration such as 15s, got an integer"),
        ("plugins: [{plugin: a:B}]\nhttpTimeout: 0s", '$.httpTimeout: Invalid value: "0s": must be more than 0'),
        (
            "plugins: [{plugin: a:B}]\nserving: {port: 70000}",
            "$.serving.port: Invalid value: 70000: must be between 0 and 65535",
        ),
        (
            "plugins: [{plugin: a:B}]\nserving: {maxTotalBodyBytes: 1000}",
            "$.serving.maxTotalBodyBytes: Invalid value: 1000: must be at least serving.maxBodyBytes",
        ),
        (
            "plugins: [{plugin: a:B}]\nserving: {allowedHosts: [good.internal, 'bad:8888']}",
            '$.serving.allowedHosts[1]: Invalid value: "bad:8888": must be a host name without a port',
        ),
        (
            "plugins: [{plugin: a:B}]\nserving: {maxConnections: 0}",
            "$.serving.maxConnections: Invalid value: 0: must be at least 1",
        ),
        (
            "plugins: [{plugin: a:B}]\nverbs: {bind: bind}\nserving: {bindAddress: 0.0.0.0}",
            "$.verbs.bind: Forbidden: any client that reaches 0.0.0.0 could bind pods: require client certificates "
            "(serving.tls.clientCAFile), or listen on 127.0.0.1",
        ),
        (
            "plugins: [{plugin: a:B}]\nverbs: {bind: b}\nserving: {bindAddress: '::', tls: {certFile: a, keyFile: b}}",
            "$.verbs.bind: Forbidden: any client that reaches :: could bind pods: require client certificates "
            "(serving.tls.clientCAFile), or listen on 127.0.0.1",
        ),
        (
            "plugins: [{plugin: a:B}]\nmonitoring: {decisions: -1}",
            "$.monitoring.decisions: Invalid value: -1: must be at least 0",
        ),
        (
            "plugins: [{plugin: a:B}]\nserving: {tls: {certFile: x}}",
            "$.serving.tls.keyFile: Required value: a certificate and its key go together",
        ),
        (
            "plugins: [{plugin: a:B}]\nserving: {tls: {clientCAFile: x}}",
            "$.serving.tls.clientCAFile: Forbidden: client certificates need HTTPS: give certFile and keyFile",
        ),
        (
            "plugins: [{plugin: a:B}]\nserving: {tls: {certFile: a, keyFile: b, allowedNames: [x]}}",
            "$.serving.tls.allowedNames: Forbidden: names are taken from client certificates: give clientCAFile",
        ),
        (
            "plugins: [{plugin: a:B, selector: {labels: {matchLables: {}}}}]",
            '$.plugins[0].selector.labels.matchLables: unknown field (did you mean "matchLabels"?)',
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, problem: str) -> None:
    assert problems(HEAD + text) == [f"x.yaml: {problem}"]


def test_the_lease_is_not_a_schedulers() -> None:
    given = {"plugins": [{"plugin": "x:Y"}], "cluster": {"leaderElection": {"leaderElect": True}}}
    lease = load(None, "command line", given).cluster.leader_election
    assert lease.leader_elect
    assert (lease.resource_name, lease.resource_namespace) == ("stowplan-extender", "kube-system")
    nothing = load(HEAD + "plugins: [{plugin: a:B}]\ncluster: {leaderElection: null}", "x.yaml", {})
    assert not nothing.cluster.leader_election.leader_elect


def test_binding_is_off_and_then_for_clients_with_certificates_or_on_this_machine() -> None:
    assert from_options().verbs.bind == ""
    assert from_options(bind_verb="bind").verbs.bind == "bind"
    tls = {"tls_cert_file": "a", "tls_private_key_file": "b", "client_ca_file": "c"}
    assert from_options(bind_verb="bind", bind_address="0.0.0.0", **tls).verbs.bind == "bind"


def test_another_kind() -> None:
    told = problems("kind: KubeSchedulerConfiguration\nplugins: [{plugin: a:B}]")
    assert told[0].startswith('x.yaml: $.apiVersion: Unsupported value: "": supported values: "stowplan/v1alpha1"')
    assert told[1].startswith('x.yaml: $.kind: Unsupported value: "KubeSchedulerConfiguration"')


@pytest.mark.parametrize("section", ["serving", "monitoring"])
def test_an_address_that_is_none(section: str) -> None:
    assert problems(HEAD + f"plugins: [{{plugin: a:B}}]\n{section}: {{bindAddress: my-host}}") == [
        f'x.yaml: $.{section}.bindAddress: Invalid value: "my-host": must be an IP address'
    ]
    local = load(HEAD + "plugins: [{plugin: a:B}]\nserving: {bindAddress: localhost}", "x.yaml", {})
    assert local.serving.options.address == "127.0.0.1"


def test_the_example_in_the_documentation_is_valid() -> None:
    text = (configuration.__doc__ or "").partition("\n\n")[2]
    assert len(load(text, "doc", {}).plugins) == 1
    assert Path(configuration.__file__).exists()
