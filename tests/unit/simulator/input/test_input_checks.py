from typing import Any

import pytest
from tests.builders import make
from tests.unit.simulator.simulated_cluster import node, pod, workload

from stowplan.errors import InputError
from stowplan.simulator.admission import located
from stowplan.simulator.input.documents import Origin
from stowplan.simulator.input.input_checks import missing_objects
from stowplan.simulator.input.manifests import Manifests, check

CLAIMING = {"volumes": [{"name": "other", "emptyDir": {}}, {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}
MISSING = "PersistentVolumeClaim default/c, which is not in the input: add it"
OWNED = {"owner": {"kind": "ReplicaSet", "name": "rs", "uid": "u"}}


def found(*items: Any) -> list[str]:
    return list(missing_objects([(located(item), Origin(f"{index}.yaml")) for index, item in enumerate(items)]))


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        (
            workload("DaemonSet", "d"),
            "$: DaemonSet default/d has a pod for each node, and the input has no nodes: add some",
        ),
        (
            pod("p", **OWNED),
            '$.metadata.ownerReferences[0]: Pod default/p is pending and the ReplicaSet "rs" that controls it is not '
            "in the input: add it, or take out the reference",
        ),
        (
            pod("p", **CLAIMING),
            f"$.spec.volumes[1].persistentVolumeClaim.claimName: Pod default/p needs {MISSING}",
        ),
        (
            workload("Deployment", "d", pod=CLAIMING),
            f"$.spec.template.spec.volumes[1].persistentVolumeClaim.claimName: Deployment default/d needs {MISSING}",
        ),
        (
            make("CronJob", "j", spec={"jobTemplate": {"spec": {"template": {"spec": CLAIMING}}}}),
            "$.spec.jobTemplate.spec.template.spec.volumes[1].persistentVolumeClaim.claimName: "
            f"CronJob default/j needs {MISSING}",
        ),
    ],
)
def test_what_is_missing(item: Any, problem: str) -> None:
    assert found(item) == [f"0.yaml: {problem}"]


CLAIM = make("PersistentVolumeClaim", "c")
TEMPLATES = [{"metadata": {"name": "v"}}]


@pytest.mark.parametrize(
    "items",
    [
        [workload("DaemonSet", "d"), node("n")],
        [pod("p", "n", **OWNED)],
        [pod("p", status={"phase": "Succeeded"}, **OWNED)],
        [pod("p", **OWNED), workload("ReplicaSet", "rs", uid="u")],
        [pod("p", owner={"kind": "RayCluster", "name": "r", "uid": "u"})],
        [pod("p", "n", **CLAIMING)],
        [pod("p", **CLAIMING), CLAIM],
        [workload("Job", "j", pod=CLAIMING), CLAIM],
        [workload("StatefulSet", "s", pod=CLAIMING, volumeClaimTemplates=TEMPLATES)],
        [],
    ],
)
def test_what_will_do(items: list[Any]) -> None:
    assert found(*items) == []


def test_a_claim_of_another_namespace_does_not_help() -> None:
    assert len(found(pod("p", namespace="a", **CLAIMING), CLAIM)) == 1


def test_all_of_it_is_told_at_once() -> None:
    bad = [(pod(f"p{i}", namespace="default", **CLAIMING), Origin("f.yaml", f"$.items[{i}]")) for i in range(2)]
    with pytest.raises(InputError) as caught:
        check(Manifests(bad, {}, []))
    one, two = str(caught.value).splitlines()
    assert one.startswith("f.yaml: $.items[0].spec.volumes[1].")
    assert two.startswith("f.yaml: $.items[1].spec.volumes[1].")
