"""Whole documents of every version: what they come to, what is said about it, and what is wrong with faulty ones."""

from typing import Any

import pytest
from tests.conversion import samples

from stowplan.config import InvalidConfigurationError, from_builtins, load, read, yaml_text
from stowplan.config.conversion import API_VERSIONS, V1, InsecureAddress, PolicySource, convert
from stowplan.config.types import GROUP, KIND
from stowplan.errors import ConfigError


def document(version: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/{version}", "kind": KIND, **fields}


@pytest.mark.parametrize("name", samples.NAMES)
def test_what_a_sample_comes_to(name: str) -> None:
    assert samples.shown(name) == samples.expected_file(name).read_text()


@pytest.mark.parametrize("name", samples.NAMES)
def test_the_result_read_as_v1_is_the_same_configuration(name: str) -> None:
    loaded = samples.loaded(name)
    assert from_builtins(loaded.converted.value) == loaded.config
    assert load(yaml_text.dump(loaded.converted.value)) == loaded.config


@pytest.mark.parametrize("name", samples.NAMES)
def test_converting_what_was_converted_changes_nothing(name: str) -> None:
    value = samples.loaded(name).converted.value
    again = convert(value, "again")
    assert (again.value, again.notices, again.version) == (value, (), V1)


def test_every_era_has_a_sample() -> None:
    assert {samples.loaded(name).converted.version for name in samples.NAMES} == {
        V1,
        "policy-v1",
        *(version.name for version in API_VERSIONS.values()),
    }


@pytest.mark.parametrize(
    ("value", "errors"),
    [
        (document("v1alpha1", profiles=[]), ["$.profiles: unknown field"]),
        (document("v1beta3", healthzBindAddress=":1"), ["$.healthzBindAddress: unknown field"]),
        (document("v1beta1", disablePreemption=True), ["$.disablePreemption: unknown field"]),
        (document("v1alpha1", schedulerName=3), ["$.schedulerName: expected a string, got an integer"]),
        (
            document("v1alpha1", plugins={"filters": {}}),
            ['$.plugins.filters: unknown field (did you mean "filter"?)'],
        ),
        (
            document("v1alpha1", algorithmSource={"provider": "Mine"}),
            [
                '$.algorithmSource.provider: Unsupported value: "Mine": supported values: "DefaultProvider", '
                '"ClusterAutoscalerProvider"'
            ],
        ),
        (
            document("v1alpha1", algorithmSource={"policy": {"configMap": {"namespace": "a"}}}),
            ["$.algorithmSource.policy: Required value: file.path or configMap.name must be given"],
        ),
        (
            document("v1beta1", profiles=[{"pluginConfig": [{"name": "NodeLabel", "args": {"labels": ["a"]}}]}]),
            ["$.profiles[0].pluginConfig[0].args.labels: unknown field"],
        ),
        (
            document("v1alpha1", pluginConfig=[{"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 101}}]),
            [
                "$.pluginConfig[0].args.hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]",
            ],
        ),
        (
            document("v1beta3", profiles=[{"plugins": {"filter": {"enabled": [{"weight": 1}]}}}]),
            ["$.profiles[0].plugins.filter.enabled[0].name: Required value"],
        ),
        (
            document("v1alpha1", plugins={"filter": {"enabled": [None]}}),
            ["$.plugins.filter.enabled[0]: must not be null"],
        ),
        (
            document("v1beta1", extenders=[{"urlPrefix": "http://a", "enableHttps": True}]),
            ['$.extenders[0].enableHttps: unknown field (did you mean "enableHTTPS"?)'],
        ),
        (
            document("v1alpha2", extenders=[{"urlPrefix": "http://a", "prioritizeVerb": "p"}, 3]),
            ["$.extenders[1]: expected an object, got an integer"],
        ),
        (
            {"kind": "Policy", "apiVersion": "v1", "extenders": [{"urlPrefix": "http://a", "managedResources": False}]},
            ["$.extenders[0].managedResources: expected a list, got a boolean"],
        ),
        (
            document("v1alpha2", extenders=[{"urlPrefix": "http://a", "prioritizeVerb": "p"}]),
            ["$.extenders[0].weight: Invalid value: 0: must have a positive weight applied to it"],
        ),
        (
            document("v1beta2", metricsBindAddress="everywhere"),
            [
                '$.metricsBindAddress: Invalid value: "everywhere": must be an IP address and a port, such as '
                "127.0.0.1:10251"
            ],
        ),
        (
            document("v1beta1", profiles=[{"plugins": {"score": {"enabled": [{"name": "RequestedToCapacityRatio"}]}}}]),
            [
                "$.profiles[0].plugins.score.enabled[0]: Required value: "
                "args of RequestedToCapacityRatio must have a shape"
            ],
        ),
    ],
)
def test_faults_are_named_where_they_stand_in_the_original(value: dict[str, Any], errors: list[str]) -> None:
    with pytest.raises(InvalidConfigurationError) as caught:
        from_builtins(value, "old.yaml")
    assert str(caught.value).splitlines() == [f"old.yaml: {error}" for error in errors]


def test_unknown_plugins_are_named_where_they_stand() -> None:
    plugins = {"score": {"enabled": [{"name": "NodeLabel"}, {"name": "ImageLocalty"}]}}
    with pytest.raises(InvalidConfigurationError) as caught:
        from_builtins(document("v1alpha1", plugins=plugins), "c", frozenset({"ImageLocality"}))
    assert str(caught.value) == (
        'c: $.plugins.score.enabled[1].name: unknown plugin "ImageLocalty" (did you mean "ImageLocality"?)'
    )


REFERRING = document("v1alpha1", algorithmSource={"policy": {"file": {"path": "p.json"}}})


@pytest.mark.parametrize(
    ("policy", "error"),
    [
        (
            '{"predicates": [{"name": "PodFitsResource"}]}',
            '$.predicates[0].name: unknown predicate "PodFitsResource" (did you mean "PodFitsResources"?)',
        ),
        (
            '{"extenders": [{"urlPrefix": "http://a", "prioritizeVerb": "p"}]}',
            "$.extenders[0].weight: Invalid value: 0: must have a positive weight applied to it",
        ),
        ("{", "malformed JSON: line 1, column 2: Expecting property name enclosed in double quotes"),
        ('{"kind": "Pod"}', '$.kind: Invalid value: "Pod": must be Policy'),
    ],
)
def test_faults_of_a_policy_name_the_policy(policy: str, error: str) -> None:
    with pytest.raises(InvalidConfigurationError) as caught:
        read(yaml_text.dump(REFERRING), "c.yaml", policies=lambda _: policy)
    assert str(caught.value).splitlines()[0] == f"c.yaml: p.json: {error}"


def test_a_policy_in_a_config_map_is_asked_for_with_the_files_kubeconfig() -> None:
    asked: list[PolicySource] = []
    value = document(
        "v1alpha1",
        clientConnection={"kubeconfig": "k"},
        algorithmSource={"policy": {"configMap": {"name": "mine"}}},
    )

    def reader(source: PolicySource) -> str:
        asked.append(source)
        return '{"kind": "Policy"}'

    read(yaml_text.dump(value), policies=reader)
    assert asked == [PolicySource(namespace="kube-system", name="mine", kubeconfig="k")]
    with pytest.raises(ConfigError, match="the policy is in ConfigMap kube-system/mine, which cannot be read here"):
        from_builtins(value)


@pytest.mark.parametrize(
    ("version", "fields", "healthz", "metrics", "asked"),
    [
        ("v1alpha1", {}, "127.0.0.1:10251", "127.0.0.1:10251", False),
        ("v1beta1", {"healthzBindAddress": ":1234"}, "0.0.0.0:1234", "127.0.0.1:10251", True),
        ("v1beta1", {"healthzBindAddress": "127.0.0.1"}, "127.0.0.1:10251", "127.0.0.1:10251", True),
        ("v1beta1", {"healthzBindAddress": "[::1]:5"}, "[::1]:5", "127.0.0.1:10251", True),
        ("v1beta1", {"healthzBindAddress": "nonsense"}, "127.0.0.1:10251", "127.0.0.1:10251", True),
        ("v1alpha2", {"healthzBindAddress": "0.0.0.0:0", "metricsBindAddress": ":0"}, "None", "None", True),
        ("v1beta2", {}, "None", "None", False),
        ("v1beta2", {"metricsBindAddress": "127.0.0.1:9"}, "None", "127.0.0.1:9", True),
    ],
)
def test_plain_http(version: str, fields: dict[str, str], healthz: str, metrics: str, asked: bool) -> None:
    plain = convert(document(version, **fields), "c").plain_http
    assert (str(plain.healthz), str(plain.metrics), plain.explicit) == (healthz, metrics, asked)


def test_an_address_shows_ipv6_in_brackets() -> None:
    assert str(InsecureAddress("::1", 80)) == "[::1]:80"


def test_both_names_of_a_lock() -> None:
    election = {"lockObjectName": "old", "resourceName": "new", "lockObjectNamespace": "there"}
    config = from_builtins(document("v1alpha1", leaderElection=election))
    assert (config.leader_election.resource_name, config.leader_election.resource_namespace) == ("new", "there")
