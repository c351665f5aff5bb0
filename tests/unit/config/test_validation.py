from typing import Any

import pytest

from stowplan.config import from_builtins
from stowplan.config.defaults import IN_TREE_PLUGINS, complete
from stowplan.config.errors import Problems
from stowplan.config.releases import LATEST
from stowplan.config.strict_decoding import decode
from stowplan.config.types import KubeSchedulerConfiguration
from stowplan.config.validation import check_plugin_names, validate

NAME_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


def read(fields: dict[str, Any]) -> KubeSchedulerConfiguration:
    return decode(fields, KubeSchedulerConfiguration, "$", Problems())


def faults(fields: dict[str, Any]) -> list[str]:
    problems = Problems()
    validate(complete(read(fields)), problems)
    return [f"{path}: {message}" for path, message in problems.errors]


def name_faults(plugins: dict[str, Any], known: set[str] | frozenset[str] | None = IN_TREE_PLUGINS) -> list[str]:
    problems = Problems()
    check_plugin_names(read({"profiles": [{"plugins": plugins}]}), known, problems)
    return [f"{path}: {message}" for path, message in problems.errors]


def enabled(*names: str) -> dict[str, Any]:
    return {"enabled": [{"name": name} for name in names]}


def managed(*names: str) -> dict[str, Any]:
    return {"extenders": [{"managedResources": [{"name": name} for name in names]}]}


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"percentageOfNodesToScore": 100, "podInitialBackoffSeconds": 10, "podMaxBackoffSeconds": 10},
        {"leaderElection": {"leaderElect": False, "leaseDuration": "1s", "resourceLock": "endpoints"}},
        {"clientConnection": {"qps": -1, "burst": 0}},
        {"profiles": [{"schedulerName": "a"}, {"schedulerName": "b", "percentageOfNodesToScore": 0}]},
        {"profiles": [{"plugins": {"queueSort": enabled("X")}}]},
        {"extenders": [{"prioritizeVerb": "p", "weight": 1, "bindVerb": "b"}, {"filterVerb": "f"}]},
        managed("example.com/gpu", "example.com/fpga"),
    ],
)
def test_sound_configurations(fields: dict[str, Any]) -> None:
    assert faults(fields) == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"parallelism": 0}, ["$.parallelism: Invalid value: 0: should be an integer value greater than zero"]),
        (
            {"percentageOfNodesToScore": 101},
            ["$.percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"],
        ),
        (
            {"profiles": [{"percentageOfNodesToScore": -1}]},
            ["$.profiles[0].percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]"],
        ),
        (
            {"podInitialBackoffSeconds": 0, "podMaxBackoffSeconds": -1},
            [
                "$.podInitialBackoffSeconds: Invalid value: 0: must be greater than 0",
                "$.podMaxBackoffSeconds: Invalid value: -1: must be greater than or equal to PodInitialBackoffSeconds",
            ],
        ),
        ({"clientConnection": {"burst": -1}}, ["$.clientConnection.burst: Invalid value: -1: must be non-negative"]),
        (
            {"leaderElection": {"leaseDuration": "-1s", "renewDeadline": "-2s", "retryPeriod": "-3s"}},
            [
                '$.leaderElection.leaseDuration: Invalid value: "-1s": must be greater than zero',
                '$.leaderElection.renewDeadline: Invalid value: "-2s": must be greater than zero',
                '$.leaderElection.retryPeriod: Invalid value: "-3s": must be greater than zero',
            ],
        ),
        (
            {"leaderElection": {"leaseDuration": "10s", "resourceLock": "endpoints"}},
            [
                '$.leaderElection.leaseDuration: Invalid value: "10s": must be greater than `RenewDeadline`',
                '$.leaderElection.resourceLock: Invalid value: "endpoints": resourceLock value must be "leases"',
            ],
        ),
        (
            {"profiles": [{}, {"schedulerName": "a"}, {"schedulerName": "a"}]},
            ["$.profiles[0].schedulerName: Required value", '$.profiles[2].schedulerName: Duplicate value: "a"'],
        ),
        (
            {"profiles": [{"pluginConfig": [{"name": "X"}, {"name": "X"}]}]},
            ['$.profiles[0].pluginConfig[1]: Duplicate value: "X"'],
        ),
        (
            {"profiles": [{"plugins": {"queueSort": enabled("A", "B")}}]},
            ["$.profiles[0].plugins.queueSort.enabled: Invalid value: 2: only one queue sort plugin can be enabled"],
        ),
        (
            {"profiles": [{"schedulerName": "a"}, {"schedulerName": "b", "plugins": {"queueSort": enabled("A")}}]},
            [
                '$.profiles[1].plugins.queueSort: Invalid value: {"enabled":[{"name":"A"}]}: '
                "must be the same for all profiles"
            ],
        ),
        (
            {
                "profiles": [
                    {
                        "schedulerName": name,
                        "plugins": {"queueSort": enabled("A")},
                        "pluginConfig": [{"name": "A", "args": {"by": name}}],
                    }
                    for name in ("a", "b")
                ]
            },
            [
                '$.profiles[1].pluginConfig[0].args: Invalid value: {"by":"b"}: '
                "queueSort must be the same for all profiles"
            ],
        ),
        (
            {"extenders": [{"prioritizeVerb": "p"}]},
            ["$.extenders[0].weight: Invalid value: 0: must have a positive weight applied to it"],
        ),
        (
            {"extenders": [{"bindVerb": "b"}, {"bindVerb": "b"}]},
            ['$.extenders: Invalid value: "found 2 extenders implementing bind": only one extender can implement bind'],
        ),
        (
            managed("cpu", "a.kubernetes.io/b", "requests.example.com/x", f"{'a' * 250}/b"),
            [
                f'$.extenders[0].managedResources[{index}].name: Invalid value: "{name}": '
                "is an invalid extended resource name"
                for index, name in enumerate(("cpu", "a.kubernetes.io/b", "requests.example.com/x", f"{'a' * 250}/b"))
            ],
        ),
        (managed("a b"), [f'$.extenders[0].managedResources[0].name: Invalid value: "a b": {NAME_RULE}']),
        (
            {"extenders": [*managed("x.org/a")["extenders"], *managed("x.org/a")["extenders"]]},
            [
                '$.extenders[1].managedResources[0].name: Invalid value: "x.org/a": '
                "duplicate extender managed resource name"
            ],
        ),
    ],
)
def test_faults_in_kube_schedulers_words(fields: dict[str, Any], expected: list[str]) -> None:
    assert faults(fields) == expected


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Foo", 'unknown plugin "Foo"'),
        ("NodeResourceFit", 'unknown plugin "NodeResourceFit" (did you mean "NodeResourcesFit"?)'),
        ("GangScheduling", 'unknown plugin "GangScheduling" (alpha, its feature gate GangScheduling is off)'),
        (
            "PodGroupPodsCount",
            'unknown plugin "PodGroupPodsCount" (alpha, its feature gate TopologyAwareWorkloadScheduling is off)',
        ),
        ("", "Required value"),
        *(
            (name, f'plugin "{name}" was removed from Kubernetes; NodeVolumeLimits counts those volumes now')
            for name in ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits")
        ),
    ],
)
@pytest.mark.parametrize("point", ["score", "multiPoint"])
def test_plugin_names_that_are_not_to_be_had(point: str, name: str, message: str) -> None:
    expected = f"$.profiles[0].plugins.{point}.enabled[1].name: {message}"
    assert name_faults({point: enabled("NodeName", name)}) == [expected]


def test_plugins_of_ones_own_are_known_when_told() -> None:
    assert name_faults({"filter": enabled("Mine")}, {*IN_TREE_PLUGINS, "Mine"}) == []
    assert name_faults({"filter": enabled("GangScheduling")}, {"GangScheduling"}) == []


def test_without_known_plugins_only_removed_ones_are_refused() -> None:
    assert name_faults({"filter": enabled("Foo", "GangScheduling")}, None) == []
    assert len(name_faults({"filter": enabled("EBSLimits")}, None)) == 1


def test_disabled_and_configured_names_may_be_unknown() -> None:
    problems = Problems()
    profile = {
        "plugins": {"score": {"disabled": [{"name": "Foo"}, {"name": "EBSLimits"}]}},
        "pluginConfig": [{"name": "Foo"}, {"name": "EBSLimits"}],
    }
    check_plugin_names(read({"profiles": [profile]}), IN_TREE_PLUGINS, problems)
    assert [error.path for error in problems.errors] == ["$.profiles[0].pluginConfig[1].name"]


def test_plugins_of_a_feature_gate_may_be_named_while_it_is_on() -> None:
    release = LATEST.with_gates({"GenericWorkload": True, "GangScheduling": True})
    profile = {"plugins": {"permit": {"enabled": [{"name": "GangScheduling"}]}}}
    given = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }
    made = from_builtins(given, "config", IN_TREE_PLUGINS, release=release)
    assert [each.name for each in made.profiles[0].plugins.permit.enabled] == ["GangScheduling"]
