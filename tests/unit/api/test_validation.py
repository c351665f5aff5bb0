from typing import Any

import pytest

from stowplan.api import KINDS, Node, codec, validation


def test_nodes() -> None:
    node = codec.convert(
        Node,
        {
            "spec": {"taints": [{"effect": "NoSchedule"}, {"key": "a", "effect": ""}]},
            "status": {"allocatable": {"cpu": "-4"}, "capacity": {"pods": "many"}},
        },
    )
    assert [problem.split(":")[0] for problem in validation.validate_node(node, "$.nodes[3]")] == [
        "$.nodes[3].metadata.name",
        "$.nodes[3].status.allocatable.cpu",
        "$.nodes[3].status.capacity.pods",
        "$.nodes[3].spec.taints[0].key",
        "$.nodes[3].spec.taints[1].effect",
    ]


BAD_SELECTOR = {"matchExpressions": [{"key": "a", "operator": "Near"}]}
BAD_NODES = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Near"}]}]}
NEGATIVE = {"x": {"value": "-1"}}
BAD_POLICY = {"default": "1x", "validValues": ["1", "-1"], "validRange": {"min": "x", "max": "1", "step": "-1"}}


@pytest.mark.parametrize(
    ("kind", "item", "paths"),
    [
        ("ReplicaSet", {"spec": {"selector": BAD_SELECTOR}}, [".spec.selector"]),
        ("StatefulSet", {"spec": {"selector": BAD_SELECTOR}}, [".spec.selector"]),
        ("PodDisruptionBudget", {"spec": {"selector": BAD_SELECTOR}}, [".spec.selector"]),
        (
            "PodDisruptionBudget",
            {"spec": {"minAvailable": -1, "maxUnavailable": "many"}},
            [".spec", ".spec.minAvailable", ".spec.maxUnavailable"],
        ),
        (
            "PersistentVolumeClaim",
            {"spec": {"resources": {"requests": {"storage": "-1"}}, "selector": BAD_SELECTOR}},
            [".spec.resources.requests.storage", ".spec.selector"],
        ),
        (
            "PersistentVolume",
            {"spec": {"capacity": {"storage": "1x"}, "nodeAffinity": {"required": BAD_NODES}}},
            [
                ".spec.capacity.storage",
                ".spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].operator",
            ],
        ),
        ("StorageClass", {"volumeBindingMode": "Later"}, [".volumeBindingMode"]),
        (
            "CSIStorageCapacity",
            {"capacity": "-1", "maximumVolumeSize": "1x", "nodeTopology": BAD_SELECTOR},
            [".capacity", ".maximumVolumeSize", ".nodeTopology"],
        ),
        (
            "ResourceSlice",
            {
                "spec": {
                    "nodeSelector": BAD_NODES,
                    "sharedCounters": [{"counters": NEGATIVE}],
                    "devices": [{"capacity": NEGATIVE, "consumesCounters": [{"counters": NEGATIVE}]}],
                }
            },
            [
                ".spec.nodeSelector.nodeSelectorTerms[0].matchExpressions[0].operator",
                ".spec.sharedCounters[0].counters.x",
                ".spec.devices[0].capacity.x",
                ".spec.devices[0].consumesCounters[0].counters.x",
            ],
        ),
        (
            "ResourceSlice",
            {"spec": {"devices": [{"capacity": {"x": {"value": "1", "requestPolicy": BAD_POLICY}}}]}},
            [
                ".spec.devices[0].capacity.x.requestPolicy.default",
                ".spec.devices[0].capacity.x.requestPolicy.validValues[1]",
                ".spec.devices[0].capacity.x.requestPolicy.validRange.min",
                ".spec.devices[0].capacity.x.requestPolicy.validRange.step",
            ],
        ),
        (
            "ResourceClaim",
            {
                "spec": {"devices": {"requests": [{"exactly": {"capacity": {"requests": {"x": "-1"}}}}, {}]}},
                "status": {
                    "allocation": {
                        "nodeSelector": BAD_NODES,
                        "devices": {"results": [{"consumedCapacity": {"x": "-1"}}]},
                    }
                },
            },
            [
                ".spec.devices.requests[0].exactly.capacity.requests.x",
                ".spec.devices.requests[1]",
                ".status.allocation.nodeSelector.nodeSelectorTerms[0].matchExpressions[0].operator",
                ".status.allocation.devices.results[0].consumedCapacity.x",
            ],
        ),
        (
            "ResourceClaimTemplate",
            {
                "spec": {
                    "spec": {"devices": {"requests": [{"firstAvailable": [{"capacity": {"requests": {"x": "-1"}}}]}]}}
                }
            },
            [".spec.spec.devices.requests[0].firstAvailable[0].capacity.requests.x"],
        ),
        ("Service", {}, []),
    ],
)
def test_other_kinds(kind: str, item: dict[str, Any], paths: list[str]) -> None:
    struct = KINDS[kind].struct
    named = codec.convert(struct, item | {"metadata": {"name": "x"}})
    assert [problem.split(": ")[0] for problem in validation.validate(kind, named, "")] == paths
    unnamed = codec.convert(struct, item)
    assert validation.validate(kind, unnamed)[0] == "$.metadata.name: must not be empty"


BASIC: dict[str, Any] = {"schedulingPolicy": {"basic": {}}}
LEAST: dict[str, dict[str, Any]] = {
    "PodGroup": {"spec": BASIC},
    "Workload": {"spec": {"podGroupTemplates": [{"name": "t", **BASIC}]}},
}
"""Required fields besides the name."""


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_can_be_validated(kind: str) -> None:
    item = codec.convert(KINDS[kind].struct, LEAST.get(kind, {}))
    assert validation.validate(kind, item) == ["$.metadata.name: must not be empty"]


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({}, ".schedulingPolicy: must specify one of: `basic`, `gang`"),
        (
            {"schedulingPolicy": {"basic": {}, "gang": {"minCount": 1}}},
            ".schedulingPolicy: must specify exactly one of: `basic`, `gang`",
        ),
        (
            {"schedulingPolicy": {"gang": {"minCount": 0}}},
            ".schedulingPolicy.gang.minCount: Required value",
        ),
        (
            {"schedulingPolicy": {"gang": {"minCount": -1}}},
            ".schedulingPolicy.gang.minCount: must be greater than or equal to 1",
        ),
        (
            BASIC | {"schedulingConstraints": {"topology": [{"key": "a"}, {"key": "b"}]}},
            ".schedulingConstraints.topology: must have at most 1 items",
        ),
        (
            BASIC | {"schedulingConstraints": {"topology": [{"key": ""}]}},
            ".schedulingConstraints.topology[0].key: Required value",
        ),
        (
            BASIC | {"schedulingConstraints": {"topology": [{"key": "/a"}]}},
            '.schedulingConstraints.topology[0].key: prefix part must be non-empty: "/a"',
        ),
        (BASIC | {"disruptionMode": "All"}, '.disruptionMode: must be one of "Pod", "PodGroup": "All"'),
        (BASIC | {"priority": 1000000001}, ".priority: must be less than or equal to 1000000000"),
        (
            BASIC | {"resourceClaims": [{"name": f"c{i}", "resourceClaimName": "c"} for i in range(5)]},
            ".resourceClaims: must have at most 4 items",
        ),
        (
            BASIC | {"resourceClaims": [{"name": "c"}]},
            ".resourceClaims[0]: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
        ),
        (
            BASIC | {"resourceClaims": [{"name": "c", "resourceClaimName": "c", "resourceClaimTemplateName": "t"}]},
            ".resourceClaims[0]: must specify exactly one of: `resourceClaimName`, `resourceClaimTemplateName`",
        ),
        (
            BASIC | {"resourceClaims": [{"name": "c", "resourceClaimName": "c"}] * 2},
            '.resourceClaims[1]: Duplicate value: "c"',
        ),
        (BASIC | {"resourceClaims": [{"resourceClaimName": "c"}]}, ".resourceClaims[0].name: Required value"),
    ],
)
def test_pod_groups(spec: dict[str, Any], problem: str) -> None:
    group = codec.convert(KINDS["PodGroup"].struct, {"metadata": {"name": "g"}, "spec": spec})
    assert validation.validate("PodGroup", group) == [f"$.spec{problem}"]


@pytest.mark.parametrize(
    ("templates", "problem"),
    [
        ([], ": Required value"),
        ([{"name": f"t{i}", **BASIC} for i in range(9)], ": must have at most 8 items"),
        ([{"name": "t", **BASIC}] * 2, '[1]: Duplicate value: "t"'),
        ([{"name": "t"}], "[0].schedulingPolicy: must specify one of: `basic`, `gang`"),
    ],
)
def test_workloads(templates: list[dict[str, Any]], problem: str) -> None:
    workload = codec.convert(
        KINDS["Workload"].struct, {"metadata": {"name": "w"}, "spec": {"podGroupTemplates": templates}}
    )
    assert validation.validate("Workload", workload) == [f"$.spec.podGroupTemplates{problem}"]


@pytest.mark.parametrize(
    ("group", "problem"),
    [({}, "must specify one of: `podGroupName`"), ({"podGroupName": "G_1"}, "a lowercase RFC 1123")],
)
def test_names_of_groups(group: dict[str, Any], problem: str) -> None:
    item = codec.convert(KINDS["Pod"].struct, {"metadata": {"name": "p"}, "spec": {"schedulingGroup": group}})
    [found] = validation.validate("Pod", item)
    assert found.startswith(f"$.spec.schedulingGroup.podGroupName: {problem}")
