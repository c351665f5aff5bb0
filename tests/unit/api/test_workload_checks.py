from typing import Any

import pytest

from stowplan.api import KINDS, codec, validation

BAD_POD = {"containers": [{"resources": {"requests": {"cpu": "-1"}}}]}
BAD_SELECTOR = {"matchExpressions": [{"key": "a", "operator": "Near"}]}
CPU = ".containers[0].resources.requests.cpu"


@pytest.mark.parametrize(
    ("kind", "spec", "paths"),
    [
        *(
            (
                kind,
                {"replicas": -1, "selector": BAD_SELECTOR, "template": {"spec": BAD_POD}},
                [".spec.replicas", ".spec.selector", f".spec.template.spec{CPU}"],
            )
            for kind in ("Deployment", "ReplicaSet", "StatefulSet")
        ),
        (
            "ReplicationController",
            {"replicas": -1, "template": {"spec": BAD_POD}},
            [".spec.replicas", f".spec.template.spec{CPU}"],
        ),
        (
            "StatefulSet",
            {
                "podManagementPolicy": "Random",
                "ordinals": {"start": -1},
                "volumeClaimTemplates": [{"spec": {"resources": {"requests": {"storage": "-1"}}}}],
            },
            [
                ".spec.podManagementPolicy",
                ".spec.ordinals.start",
                ".spec.volumeClaimTemplates[0].metadata.name",
                ".spec.volumeClaimTemplates[0].spec.resources.requests.storage",
            ],
        ),
        (
            "DaemonSet",
            {"selector": BAD_SELECTOR, "template": {"spec": BAD_POD}},
            [".spec.selector", f".spec.template.spec{CPU}"],
        ),
        (
            "Job",
            {"parallelism": -1, "completions": -1, "selector": BAD_SELECTOR, "template": {"spec": BAD_POD}},
            [".spec.parallelism", ".spec.completions", ".spec.selector", f".spec.template.spec{CPU}"],
        ),
        ("Job", {"completionMode": "Sorted"}, [".spec.completionMode"]),
        ("Job", {"completionMode": "Indexed"}, [".spec.completions"]),
        ("Job", {"completionMode": "Indexed", "completions": 3}, []),
        (
            "CronJob",
            {"jobTemplate": {"spec": {"parallelism": -1, "template": {"spec": BAD_POD}}}},
            [".spec.jobTemplate.spec.parallelism", f".spec.jobTemplate.spec.template.spec{CPU}"],
        ),
    ],
)
def test_workloads(kind: str, spec: dict[str, Any], paths: list[str]) -> None:
    item = codec.convert(KINDS[kind].struct, {"metadata": {"name": "x"}, "spec": spec})
    assert [problem.split(": ")[0] for problem in validation.validate(kind, item, "")] == paths
