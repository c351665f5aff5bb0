from typing import Any

import pytest
from tests.builders import make
from tests.unit.simulator.simulated_cluster import node, pod, workload

from stowplan.simulator.workloads import find_template, pod_spec_of

TEMPLATE = {"spec": {"schedulerName": "mine"}}


@pytest.mark.parametrize(
    ("item", "path"),
    [
        (workload("Deployment", "a", pod={"schedulerName": "mine"}), ".spec.template"),
        (make("ReplicationController", "a", spec={"template": TEMPLATE}), ".spec.template"),
        (make("Job", "a", spec={"template": TEMPLATE}), ".spec.template"),
        (
            make("CronJob", "a", spec={"jobTemplate": {"spec": {"template": TEMPLATE}}}),
            ".spec.jobTemplate.spec.template",
        ),
    ],
)
def test_templates_of_workloads(item: Any, path: str) -> None:
    found = find_template(item)
    assert found is not None
    assert found.path == path
    assert found.template.spec.scheduler_name == "mine"
    assert pod_spec_of(item) is found.template.spec


def test_other_objects_have_none() -> None:
    assert find_template(make("ReplicationController", "a")) is None
    assert pod_spec_of(node("n")) is None
    assert pod_spec_of(make("PriorityClass", "p")) is None
    given = pod("p")
    assert find_template(given) is None
    assert pod_spec_of(given) is given.spec
