"""What an input lacks: named once, assumed, or in strict mode refused."""

from typing import Any

import pytest
from tests.builders import make
from tests.unit.simulator.simulated_cluster import node, pod, workload

from stowplan import api
from stowplan.simulator.admission import located
from stowplan.simulator.input import Origin
from stowplan.simulator.input.gap import Assumption, Gap, assumptions_of
from stowplan.simulator.input.gaps import find_gaps
from stowplan.simulator.input.ownership import Ownership

CLAIMING = {"volumes": [{"name": "other", "emptyDir": {}}, {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}
MISSING = "PersistentVolumeClaim default/c, which is not in the input: add it"
OWNED = {"owner": {"kind": "ReplicaSet", "name": "rs", "uid": "u"}}
CLAIM = make("PersistentVolumeClaim", "c", spec={"volumeName": "pv"})
TEMPLATES = [{"metadata": {"name": "v"}, "spec": {"storageClassName": ""}}]


def gaps(*items: Any) -> list[Gap]:
    objects = [(located(item), Origin(f"{index}.yaml")) for index, item in enumerate(items)]
    return list(find_gaps(Ownership(objects)))


def named(*items: Any) -> list[str]:
    return [f"{gap.kind} {gap.name}".strip() for gap in gaps(*items)]


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        (
            pod("p", **OWNED),
            '$.metadata.ownerReferences[0]: Pod default/p is controlled by ReplicaSet "rs", which is not in the input: '
            "add it, or take out the reference",
        ),
        (
            pod("p", owner={"kind": "RayCluster", "name": "r", "uid": "u"}),
            '$.metadata.ownerReferences[0]: Pod default/p is controlled by RayCluster "r", which is not simulated',
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
        (
            CLAIM,
            "$.spec.volumeName: PersistentVolumeClaim default/c is bound to PersistentVolume pv, which is not in "
            "the input: add it",
        ),
        (
            make("PersistentVolumeClaim", "c", spec={"storageClassName": "fast"}),
            "$.spec.storageClassName: a claim needs StorageClass fast, which is not in the input: add it",
        ),
        (
            workload("StatefulSet", "s", volumeClaimTemplates=[{"metadata": {"name": "v"}}]),
            "$.spec.volumeClaimTemplates[0].spec.storageClassName: not set, and the input has no default StorageClass: "
            "add it",
        ),
        (pod("p", priorityClassName="vip"), "$.spec.priorityClassName: no PriorityClass with name vip was found"),
        (
            pod("p", resourceClaims=[{"name": "g", "resourceClaimName": "gpu"}]),
            "$.spec.resourceClaims[0]: Pod default/p needs ResourceClaim default/gpu, which is not in the input: "
            "add it",
        ),
        (pod("p", "n"), "$.spec.nodeName: Pod default/p runs on node n, which is not in the input: add it"),
    ],
)
def test_what_is_missing(item: Any, problem: str) -> None:
    assert [gap.problem for gap in gaps(item)] == [f"0.yaml: {problem}"]


@pytest.mark.parametrize(
    "items",
    [
        [workload("DaemonSet", "d"), node("n")],
        [pod("p", status={"phase": "Succeeded"}, **CLAIMING)],
        [pod("p", **OWNED), workload("ReplicaSet", "rs", uid="u")],
        [pod("p", owner={"kind": "Node", "name": "n", "uid": "u"})],
        [pod("p", **CLAIMING), CLAIM, make("PersistentVolume", "pv")],
        [workload("StatefulSet", "s", pod=CLAIMING, volumeClaimTemplates=TEMPLATES)],
        [pod("p", priorityClassName="system-node-critical")],
        [pod("p", priorityClassName="vip", priority=7)],
        [make("PersistentVolumeClaim", "c"), make("PersistentVolume", "pv")],
        [make("PersistentVolumeClaim", "c"), make("StorageClass", "any")],
        [
            make("PersistentVolumeClaim", "c", spec={"storageClassName": "manual"}),
            make("PersistentVolume", "pv", spec={"storageClassName": "manual"}),
        ],
        [],
    ],
)
def test_what_will_do(items: list[Any]) -> None:
    assert named(*items) == []


def test_a_claim_of_another_namespace_does_not_help() -> None:
    assert named(pod("p", namespace="a", **CLAIMING), CLAIM, make("PersistentVolume", "pv")) == [
        "PersistentVolumeClaim a/c"
    ]


def test_each_is_found_once() -> None:
    assert named(*(pod(f"p{i}", priorityClassName="vip", **OWNED, **CLAIMING) for i in range(3))) == [
        "ReplicaSet default/rs",
        "PersistentVolumeClaim default/c",
        "PriorityClass vip",
    ]


def test_an_assumed_controller_selects_its_pods() -> None:
    one, two = (pod(f"p{i}", labels={"app": "web", "hash": "x", "own": str(i)}, **OWNED) for i in range(2))
    ((owner,),) = (gap.assumed for gap in gaps(one, two))
    assert isinstance(owner, api.ReplicaSet)
    assert (owner.metadata.uid, owner.spec.replicas) == ("u", 2)
    assert owner.spec.selector == api.LabelSelector(match_labels={"app": "web", "hash": "x"})


def test_a_priority_is_taken_from_other_pods() -> None:
    running = pod("old", priorityClassName="vip", priority=70, preemptionPolicy="Never")
    (gap,) = gaps(running, workload("Deployment", "d", pod={"priorityClassName": "vip"}))
    assert gap.assumption == "value 70, as in pods of the input"
    (assumed,) = gap.assumed
    assert (assumed.value, assumed.preemption_policy) == (70, "Never")


def test_a_snapshot_without_services_and_namespaces() -> None:
    stored = api.Node(metadata=api.ObjectMeta(name="n", uid="u", resource_version="5"))
    assert named(stored) == ["Service"]
    assert named(stored, make("Service", "kubernetes")) == []
    term = {"topologyKey": "zone", "namespaceSelector": {"matchLabels": {"team": "a"}}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    assert named(stored, make("Service", "kubernetes"), pod("p", affinity=affinity)) == ["Namespace default"]


def test_assumptions_group_their_objects() -> None:
    found = [Gap("A", "x", "is", "p"), Gap("B", "", "none", "p"), Gap("A", "y", "is", "p"), Gap("A", "x", "is", "p")]
    assert assumptions_of(found) == (Assumption("A", ("x", "y"), "is"), Assumption("B", (), "none"))
