from tests.unit.simulator.simulated_cluster import SimulatedCluster, pod, workload

from stowplan import api
from stowplan.simulator.workloads.pod_factory import PodFactory, owned_by, replacement_of


def stamp(stage: SimulatedCluster) -> PodFactory:
    owner = workload("ReplicaSet", "web", uid="u", namespace="default")
    return PodFactory(stage.world, owner, owner.spec.template)


def test_references_to_an_owner() -> None:
    assert owned_by(workload("StatefulSet", "db", uid="u")) == (
        api.OwnerReference(api_version="apps/v1", kind="StatefulSet", name="db", uid="u", controller=True),
    )


def test_replicas_share_all_but_their_names() -> None:
    made = stamp(SimulatedCluster())
    one, two = made.pod(), made.pod()
    assert one.metadata.name != two.metadata.name
    assert one.metadata.generate_name == "web-"
    assert one.metadata.name.startswith("web-")
    assert one.metadata.namespace == "default"
    assert one.spec is two.spec
    assert one.metadata.labels is two.metadata.labels
    assert one.metadata.owner_references is two.metadata.owner_references
    assert one.status.phase == "Pending"


def test_names_are_the_same_in_every_run() -> None:
    assert [stamp(SimulatedCluster()).pod() for _ in range(2)] == [stamp(SimulatedCluster()).pod() for _ in range(2)]


def test_names_in_use_are_passed_over() -> None:
    taken = stamp(SimulatedCluster()).pod().metadata.name
    assert stamp(SimulatedCluster(pod(taken))).pod().metadata.name != taken


def test_a_pod_of_its_own_sort() -> None:
    spec = api.PodSpec(node_name="n")
    made = stamp(SimulatedCluster()).pod("web-0", labels={"a": "b"}, annotations={"c": "d"}, spec=spec)
    assert (made.metadata.name, made.metadata.generate_name) == ("web-0", "")
    assert (made.metadata.labels, made.metadata.annotations, made.spec) == ({"a": "b"}, {"c": "d"}, spec)
    assert stamp(SimulatedCluster()).pod(base="job-3-").metadata.name.startswith("job-3-")


def test_a_pod_once_more() -> None:
    lost = pod(
        "web-a", "n", namespace="default", uid="a", labels={"x": "y"}, hostNetwork=True, status={"phase": "Running"}
    )
    made = replacement_of(SimulatedCluster().world, lost, "web")
    assert made.metadata.name.startswith("web-")
    assert (made.metadata.uid, made.metadata.labels, made.status.phase) == ("", {"x": "y"}, "Pending")
    assert (made.spec.node_name, made.spec.host_network) == ("", True)
    taken = SimulatedCluster(pod(made.metadata.name))
    assert replacement_of(taken.world, lost, "web").metadata.name != made.metadata.name
    assert replacement_of(taken.world, lost, "web", keep_name=True).metadata.name == "web-a"
