from typing import Any

import pytest

from stowplan.api import Pod, codec, validation

SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def pod_problems(spec: dict[str, Any], status: dict[str, Any] | None = None) -> list[str]:
    return validation.validate_pod(codec.convert(Pod, {"metadata": {"name": "p"}, "spec": spec, "status": status}))


def node_affinity(required: dict[str, Any]) -> dict[str, Any]:
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [required]}}}}


def requests(**amounts: Any) -> dict[str, Any]:
    return {"resources": {"requests": amounts}}


def test_a_sound_pod_has_no_problems() -> None:
    spec = {
        "containers": [requests(cpu="100m", memory=1024) | {"ports": [{"containerPort": 80, "hostPort": 80}]}],
        "overhead": {"cpu": "1m"},
        "preemptionPolicy": "Never",
        "tolerations": [{"operator": "Exists"}, {"key": "a", "operator": "Gt", "value": "1"}, {"key": "b"}],
        "topologySpreadConstraints": [SPREAD | {"minDomains": 2, "nodeTaintsPolicy": "Honor"}],
        "affinity": {
            "nodeAffinity": {
                REQUIRED: {"nodeSelectorTerms": []},
                PREFERRED: [
                    {
                        "weight": 100,
                        "preference": {
                            "matchExpressions": [{"key": "a", "operator": "Gt", "values": ["not a number"]}],
                            "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}],
                        },
                    }
                ],
            },
            "podAffinity": {REQUIRED: [{"topologyKey": "zone"}]},
            "podAntiAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": {"topologyKey": "zone"}}]},
        },
    }
    assert pod_problems(spec) == []


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (
            {"containers": [requests(cpu="-1")]},
            '$.pod.spec.containers[0].resources.requests.cpu: must not be negative: "-1"',
        ),
        (
            {"initContainers": [{}, {"resources": {"limits": {"nvidia.com/gpu": -1}}}]},
            '$.pod.spec.initContainers[1].resources.limits["nvidia.com/gpu"]: must not be negative: "-1"',
        ),
        (
            {"overhead": {"memory": "1GB"}},
            '$.pod.spec.overhead.memory: cannot parse quantity "1GB": quantities must match the regular expression '
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        ({"resources": {"requests": {"cpu": -1}}}, '$.pod.spec.resources.requests.cpu: must not be negative: "-1"'),
        (
            {"containers": [{"ports": [{"hostPort": 65536}]}]},
            "$.pod.spec.containers[0].ports[0].hostPort: must be between 1 and 65535: 65536",
        ),
        (
            {"containers": [{"ports": [{"protocol": "ICMP"}]}]},
            '$.pod.spec.containers[0].ports[0].protocol: must be one of "TCP", "UDP", "SCTP": "ICMP"',
        ),
        (
            {"preemptionPolicy": "Always"},
            '$.pod.spec.preemptionPolicy: must be one of "PreemptLowerPriority", "Never": "Always"',
        ),
        (
            {"tolerations": [{"key": "a", "operator": "In"}]},
            '$.pod.spec.tolerations[0].operator: must be one of "Equal", "Exists", "Gt", "Lt": "In"',
        ),
        ({"tolerations": [{}]}, "$.pod.spec.tolerations[0].operator: operator must be Exists when `key` is empty"),
        (
            {"tolerations": [{"key": "a", "effect": "NoScheduling"}]},
            '$.pod.spec.tolerations[0].effect: must be one of "NoSchedule", "PreferNoSchedule", "NoExecute": '
            '"NoScheduling"',
        ),
        (
            {"topologySpreadConstraints": [SPREAD | {"maxSkew": 0}]},
            "$.pod.spec.topologySpreadConstraints[0].maxSkew: must be greater than zero: 0",
        ),
        (
            {"topologySpreadConstraints": [SPREAD | {"topologyKey": ""}]},
            "$.pod.spec.topologySpreadConstraints[0].topologyKey: must not be empty",
        ),
        (
            {"topologySpreadConstraints": [SPREAD | {"minDomains": 0}]},
            "$.pod.spec.topologySpreadConstraints[0].minDomains: must be greater than zero: 0",
        ),
        (
            {"topologySpreadConstraints": [SPREAD | {"whenUnsatisfiable": "Ignore"}]},
            "$.pod.spec.topologySpreadConstraints[0].whenUnsatisfiable: must be one of "
            '"DoNotSchedule", "ScheduleAnyway": "Ignore"',
        ),
        (
            {"topologySpreadConstraints": [SPREAD | {"nodeAffinityPolicy": "Honour"}]},
            '$.pod.spec.topologySpreadConstraints[0].nodeAffinityPolicy: must be one of "Honor", "Ignore": "Honour"',
        ),
        (
            {"topologySpreadConstraints": [SPREAD | {"labelSelector": {"matchExpressions": [{"key": "a"}]}}]},
            '$.pod.spec.topologySpreadConstraints[0].labelSelector: "" is not a valid label selector operator',
        ),
        (
            node_affinity({"matchExpressions": [{"key": "a", "operator": "Inn", "values": ["b"]}]}),
            f"$.pod.spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0].operator: "
            'must be one of "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt": "Inn"',
        ),
        (
            node_affinity({"matchExpressions": [{"key": "a", "operator": "In"}]}),
            f"$.pod.spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0].values: "
            "for 'in', 'notin' operators, values set can't be empty",
        ),
        (
            node_affinity({"matchFields": [{"key": "metadata.uid", "operator": "In", "values": ["b"]}]}),
            f"$.pod.spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchFields[0].key: "
            'must be one of "metadata.name": "metadata.uid"',
        ),
        (
            node_affinity({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a", "b"]}]}),
            f"$.pod.spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchFields[0].values: "
            "must have one element",
        ),
        (
            {"affinity": {"nodeAffinity": {PREFERRED: [{"weight": 101, "preference": {}}]}}},
            f"$.pod.spec.affinity.nodeAffinity.{PREFERRED}[0].weight: must be in the range 1-100: 101",
        ),
        (
            {"affinity": {"podAffinity": {REQUIRED: [{}]}}},
            f"$.pod.spec.affinity.podAffinity.{REQUIRED}[0].topologyKey: must not be empty",
        ),
        (
            {"affinity": {"podAntiAffinity": {PREFERRED: [{"podAffinityTerm": {"topologyKey": "zone"}}]}}},
            f"$.pod.spec.affinity.podAntiAffinity.{PREFERRED}[0].weight: must be in the range 1-100: 0",
        ),
        (
            {"volumes": [{"ephemeral": {"volumeClaimTemplate": {"spec": requests(storage="-1Gi")}}}]},
            "$.pod.spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests.storage: "
            'must not be negative: "-1Gi"',
        ),
    ],
)
def test_each_problem_of_a_pod_is_one_line(spec: dict[str, Any], problem: str) -> None:
    assert pod_problems(spec) == [problem]


def test_status_of_a_resized_pod_is_checked() -> None:
    status = {
        "resources": {"requests": {"cpu": "x"}},
        "allocatedResources": {"cpu": "x"},
        "containerStatuses": [{"resources": {"requests": {"cpu": "x"}}, "allocatedResources": {"cpu": "x"}}],
        "initContainerStatuses": [{"allocatedResources": {"cpu": "x"}}],
    }
    assert [problem.split(":")[0] for problem in pod_problems({}, status)] == [
        "$.pod.status.resources.requests.cpu",
        "$.pod.status.allocatedResources.cpu",
        "$.pod.status.containerStatuses[0].resources.requests.cpu",
        "$.pod.status.containerStatuses[0].allocatedResources.cpu",
        "$.pod.status.initContainerStatuses[0].allocatedResources.cpu",
    ]


def test_all_problems_are_told() -> None:
    assert len(pod_problems({"overhead": {"cpu": "-1", "memory": "x"}, "tolerations": [{}]})) == 3
