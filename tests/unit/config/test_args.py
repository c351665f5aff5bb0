from typing import Any

import pytest

from stowplan.config.args import (
    ARGS,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PluginArgs,
    PodTopologySpreadArgs,
    ResourceSpec,
    ScoringStrategy,
    VolumeBindingArgs,
)
from stowplan.config.args.optional import NoArgs
from stowplan.config.duration import Duration
from stowplan.config.errors import Problems
from stowplan.config.strict_decoding import decode_walking

NAME_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
PREFIX_RULE = (
    "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
    "must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
CPU_AND_MEMORY = (ResourceSpec(name="cpu", weight=1), ResourceSpec(name="memory", weight=1))


def read(plugin: str, value: object) -> PluginArgs:
    problems = Problems()
    args = decode_walking(value, ARGS[plugin], "$", problems).completed()
    assert problems.errors == []
    return args


def faults(plugin: str, value: object) -> list[str]:
    problems = Problems()
    read(plugin, value).check("$", problems)
    return [f"{path}: {message}" for path, message in problems.errors]


def shape(*points: tuple[int, int]) -> dict[str, Any]:
    return {"shape": [{"utilization": utilization, "score": score} for utilization, score in points]}


def ratio(value: dict[str, Any]) -> dict[str, Any]:
    return {"scoringStrategy": {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": value}}


def strategy(**fields: Any) -> dict[str, Any]:
    return {"scoringStrategy": {"type": "LeastAllocated", **fields}}


def constraint(**fields: Any) -> dict[str, Any]:
    return {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", **fields}


def constraints(*items: dict[str, Any]) -> dict[str, Any]:
    return {"defaultingType": "List", "defaultConstraints": list(items)}


def expression(**fields: Any) -> dict[str, Any]:
    terms = [{"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"], **fields}]}]
    return {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


REQUIRED = "$.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"
PREFERRED = "$.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference"


@pytest.mark.parametrize(
    ("plugin", "defaults"),
    [
        (
            "DefaultPreemption",
            DefaultPreemptionArgs(min_candidate_nodes_percentage=10, min_candidate_nodes_absolute=100),
        ),
        (
            "DynamicResources",
            DynamicResourcesArgs(filter_timeout=Duration.parse("10s"), binding_timeout=Duration.parse("10m")),
        ),
        (
            "InterPodAffinity",
            InterPodAffinityArgs(hard_pod_affinity_weight=1, ignore_preferred_terms_of_existing_pods=False),
        ),
        ("NodeAffinity", NodeAffinityArgs(added_affinity=None)),
        ("NodeResourcesBalancedAllocation", NodeResourcesBalancedAllocationArgs(resources=CPU_AND_MEMORY)),
        (
            "NodeResourcesFit",
            NodeResourcesFitArgs(scoring_strategy=ScoringStrategy(type="LeastAllocated", resources=CPU_AND_MEMORY)),
        ),
        ("PodTopologySpread", PodTopologySpreadArgs(default_constraints=(), defaulting_type="System")),
        ("VolumeBinding", VolumeBindingArgs(bind_timeout_seconds=600, shape=None)),
    ],
)
def test_defaults(plugin: str, defaults: PluginArgs) -> None:
    assert read(plugin, {}) == defaults
    assert faults(plugin, {}) == []


def test_empty_and_zero_values_are_completed() -> None:
    fit = read("NodeResourcesFit", {"scoringStrategy": {"type": "MostAllocated", "resources": []}})
    assert fit == NodeResourcesFitArgs(scoring_strategy=ScoringStrategy(type="MostAllocated", resources=CPU_AND_MEMORY))
    weighted = read("NodeResourcesFit", strategy(resources=[{"name": "a", "weight": 0}, {"name": "b", "weight": 7}]))
    assert isinstance(weighted, NodeResourcesFitArgs)
    assert [r.weight for r in weighted.scoring_strategy.resources] == [1, 7]
    balanced = read("NodeResourcesBalancedAllocation", {"resources": [{"name": "gpu", "weight": 0}]})
    assert balanced == NodeResourcesBalancedAllocationArgs(resources=(ResourceSpec(name="gpu", weight=1),))
    assert read("PodTopologySpread", {"defaultingType": ""}) == PodTopologySpreadArgs()


def test_an_explicit_zero_is_no_default_where_zero_means_something() -> None:
    assert read("InterPodAffinity", {"hardPodAffinityWeight": 0}) == InterPodAffinityArgs(hard_pod_affinity_weight=0)
    assert read("VolumeBinding", {"bindTimeoutSeconds": 0}) == VolumeBindingArgs(bind_timeout_seconds=0)
    assert read("DynamicResources", {"filterTimeout": "0"}) == DynamicResourcesArgs(filter_timeout=Duration())


@pytest.mark.parametrize(
    ("plugin", "value"),
    [
        ("DefaultPreemption", {"minCandidateNodesPercentage": 0}),
        ("DefaultPreemption", {"minCandidateNodesPercentage": 100, "minCandidateNodesAbsolute": 0}),
        ("InterPodAffinity", {"hardPodAffinityWeight": 100}),
        ("NodeAffinity", {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}),
        ("NodeAffinity", expression(operator="Gt", values=["5"])),
        ("NodeResourcesFit", {"ignoredResources": ["example.com/gpu"], "ignoredResourceGroups": ["example.com"]}),
        ("NodeResourcesFit", strategy(resources=[{"name": "cpu", "weight": 100}])),
        ("NodeResourcesFit", ratio(shape((0, 10), (50, 5), (100, 0)))),
        ("NodeResourcesFit", ratio(shape((50, 5)))),
        ("NodeResourcesBalancedAllocation", {"resources": [{"name": "cpu", "weight": 1}, {"name": "gpu"}]}),
        ("PodTopologySpread", constraints()),
        ("PodTopologySpread", constraints(constraint(), constraint(whenUnsatisfiable="ScheduleAnyway"))),
        ("DynamicResources", {"bindingTimeout": "1s"}),
    ],
)
def test_sound_args_have_no_faults(plugin: str, value: object) -> None:
    assert faults(plugin, value) == []


@pytest.mark.parametrize(
    ("plugin", "value", "expected"),
    [
        (
            "DefaultPreemption",
            {"minCandidateNodesPercentage": 101, "minCandidateNodesAbsolute": -1},
            [
                "$.minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100]",
                "$.minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)",
            ],
        ),
        (
            "DefaultPreemption",
            {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0},
            [
                "$.minCandidateNodesPercentage: Invalid value: 0: "
                "cannot be zero at the same time as minCandidateNodesAbsolute",
                "$.minCandidateNodesAbsolute: Invalid value: 0: "
                "cannot be zero at the same time as minCandidateNodesPercentage",
            ],
        ),
        (
            "InterPodAffinity",
            {"hardPodAffinityWeight": 101},
            ["$.hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]"],
        ),
        (
            "NodeAffinity",
            expression(key="a b"),
            [f'{REQUIRED}.matchExpressions[0].key: Invalid value: "a b": {NAME_RULE}'],
        ),
        (
            "NodeAffinity",
            expression(operator="Foo"),
            [
                f'{REQUIRED}.matchExpressions[0].operator: Unsupported value: "Foo": '
                'supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"'
            ],
        ),
        (
            "NodeAffinity",
            expression(operator="Lt", values=["x"]),
            [
                f'{REQUIRED}.matchExpressions[0].values[0]: Invalid value: "x": '
                "for 'Gt', 'Lt' operators, the value must be an integer"
            ],
        ),
        (
            "NodeAffinity",
            {
                "addedAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": 1, "preference": {"matchFields": [{"key": "metadata.name", "operator": "Exists"}]}},
                        {"weight": 0, "preference": {"matchFields": [{"key": "metadata.name", "operator": "Exists"}]}},
                    ]
                }
            },
            [f'{PREFERRED}.matchFields[0].operator: Unsupported value: "Exists": supported values: "In", "NotIn"'],
        ),
        (
            "NodeResourcesFit",
            {"ignoredResources": ["ok", "a b"]},
            [f'$.ignoredResources[1]: Invalid value: "a b": {NAME_RULE}'],
        ),
        (
            "NodeResourcesFit",
            {"ignoredResourceGroups": ["a/b", "x y/z"]},
            [
                "$.ignoredResourceGroups[0]: Invalid value: \"a/b\": resource group name can't contain '/'",
                "$.ignoredResourceGroups[1]: Invalid value: \"x y/z\": resource group name can't contain '/'",
                f'$.ignoredResourceGroups[1]: Invalid value: "x y/z": {PREFIX_RULE}',
            ],
        ),
        (
            "NodeResourcesFit",
            {"scoringStrategy": {"resources": [{"name": "cpu", "weight": 1}]}},
            [
                '$.scoringStrategy.type: Unsupported value: "": '
                'supported values: "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"'
            ],
        ),
        (
            "NodeResourcesFit",
            strategy(resources=[{"name": "cpu", "weight": 101}, {"name": "m", "weight": -1}]),
            [
                "$.scoringStrategy.resources[0].weight: Invalid value: 101: "
                "resource weight of cpu not in valid range (0, 100]",
                "$.scoringStrategy.resources[1].weight: Invalid value: -1: "
                "resource weight of m not in valid range (0, 100]",
            ],
        ),
        (
            "NodeResourcesFit",
            strategy(requestedToCapacityRatio={}),
            [
                "$.scoringStrategy.requestedToCapacityRatio: Forbidden: "
                "must be nil when type is not RequestedToCapacityRatio"
            ],
        ),
        (
            "NodeResourcesFit",
            {"scoringStrategy": {"type": "RequestedToCapacityRatio"}},
            [
                "$.scoringStrategy.requestedToCapacityRatio: Required value: "
                "must be specified when type is RequestedToCapacityRatio"
            ],
        ),
        (
            "NodeResourcesFit",
            ratio({}),
            ["$.scoringStrategy.requestedToCapacityRatio.shape: Required value: at least one point must be specified"],
        ),
        (
            "NodeResourcesFit",
            ratio(shape((50, 11), (50, -1), (101, 1), (-1, 1))),
            [
                f"$.scoringStrategy.requestedToCapacityRatio.shape{fault}"
                for fault in (
                    "[1].utilization: Invalid value: 50: values must be sorted in increasing order",
                    "[0].score: Invalid value: 11: not in valid range [0, 10]",
                    "[1].score: Invalid value: -1: not in valid range [0, 10]",
                    "[2].utilization: Invalid value: 101: not in valid range [0, 100]",
                    "[3].utilization: Invalid value: -1: not in valid range [0, 100]",
                )
            ],
        ),
        (
            "NodeResourcesBalancedAllocation",
            {"resources": [{"name": "cpu", "weight": 2}, {"name": "cpu"}]},
            [
                "$.resources[0].weight: Invalid value: 2: must be 1",
                '$.resources[1].name: Duplicate value: "cpu"',
            ],
        ),
        (
            "PodTopologySpread",
            {"defaultingType": "x"},
            ['$.defaultingType: Unsupported value: "x": supported values: "System", "List"'],
        ),
        (
            "PodTopologySpread",
            {"defaultConstraints": [constraint()]},
            ['$.defaultingType: Invalid value: "System": when .defaultConstraints are not empty'],
        ),
        (
            "PodTopologySpread",
            constraints({"labelSelector": {}}),
            [
                "$.defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)",
                "$.defaultConstraints[0].topologyKey: Required value: can not be empty",
                "$.defaultConstraints[0].whenUnsatisfiable: Required value: can not be empty",
                "$.defaultConstraints[0].labelSelector: Forbidden: "
                "constraint must not define a selector, as they deduced for each pod",
            ],
        ),
        (
            "PodTopologySpread",
            constraints(constraint(topologyKey="a b", whenUnsatisfiable="Foo")),
            [
                f'$.defaultConstraints[0].topologyKey: Invalid value: "a b": {NAME_RULE}',
                '$.defaultConstraints[0].whenUnsatisfiable: Unsupported value: "Foo": '
                'supported values: "DoNotSchedule", "ScheduleAnyway"',
            ],
        ),
        (
            "PodTopologySpread",
            constraints(constraint(), constraint(maxSkew=2)),
            ['$.defaultConstraints[1]: Duplicate value: "{zone, DoNotSchedule}"'],
        ),
        (
            "VolumeBinding",
            {"bindTimeoutSeconds": -1, "shape": []},
            [
                "$.bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative value",
                "$.shape: Invalid value: []: "
                "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring",
            ],
        ),
        (
            "DynamicResources",
            {"filterTimeout": "-1s", "bindingTimeout": "999ms"},
            [
                '$.filterTimeout: Invalid value: "-1s": must be zero or positive',
                '$.bindingTimeout: Invalid value: "999ms": must be at least 1 second',
            ],
        ),
    ],
)
def test_faults_in_kube_schedulers_words(plugin: str, value: object, expected: list[str]) -> None:
    assert faults(plugin, value) == expected


def test_kinds_follow_from_plugin_names() -> None:
    assert all(kind is NoArgs or kind.__name__ == f"{plugin}Args" for plugin, kind in ARGS.items())
    assert list(ARGS) == sorted(ARGS)
