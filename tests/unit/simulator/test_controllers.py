import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.builders import make
from tests.unit.simulator.simulated_cluster import SimulatedCluster, node, pod, workload

from stowplan import api
from stowplan.simulator.api_server import ObjectChange


def test_pods_go_with_their_node_and_come_back_elsewhere() -> None:
    stage = SimulatedCluster(node("n1"), node("n2"), workload("ReplicaSet", "web", replicas=2), pod("bare", "n1"))
    first, second = (name for name in stage.names() if name != "bare")
    stage.bind(first, "n1")
    stage.bind(second, "n2")
    stage.world.delete(node("n1"))
    stage.settle()
    assert "bare" not in stage.names()
    assert first not in stage.names()
    assert [each.spec.node_name for each in stage.pods()] == ["n2", ""]


def test_a_pod_bound_to_a_node_that_has_just_gone_is_collected() -> None:
    stage = SimulatedCluster(node("n1"), pod("a"))
    stage.world.delete(node("n1"))
    stage.settle()
    assert stage.bind("a", "n1") is None
    assert stage.names() == []


def test_pods_on_nodes_that_were_never_there_are_left_alone() -> None:
    assert SimulatedCluster(pod("a", "elsewhere")).names() == ["a"]


def test_a_node_that_comes_back_is_a_node_again() -> None:
    stage = SimulatedCluster(node("n1"), pod("a"))
    stage.world.delete(node("n1"))
    stage.settle()
    stage.put(node("n1"))
    stage.bind("a", "n1")
    assert stage.names() == ["a"]


def test_what_an_object_controls_goes_with_it() -> None:
    stage = SimulatedCluster(pod("a", uid="u"))
    owner: dict[str, Any] = {"kind": "Pod", "name": "a", "uid": "u"}
    stage.put(make("PersistentVolumeClaim", "a-data", owner=owner), make("PersistentVolumeClaim", "other"))
    stage.delete("a")
    assert stage.names("PersistentVolumeClaim") == ["other"]


def test_outdated_changes_are_passed_over() -> None:
    stage = SimulatedCluster()
    old = stage.world.put(workload("ReplicaSet", "web", namespace="default", replicas=5))
    stage.world.put(workload("ReplicaSet", "web", namespace="default", replicas=1))
    stage.controllers.react(ObjectChange(old))
    assert stage.names() == []
    stage.settle()
    assert len(stage.names()) == 1


def test_kinds_that_no_controller_looks_after() -> None:
    stage = SimulatedCluster(make("Service", "s"))
    assert isinstance(stage.seen[0].item, api.Service | api.Namespace)


CLAIMS = [{"metadata": {"name": "data"}, "spec": {"storageClassName": "wait"}}]
CLASSES = ["none", "now", "wait"]


def volume(number: int, kind: str) -> Any:
    return make("PersistentVolume", f"v{number}", spec={"storageClassName": kind, "capacity": {"storage": "1Gi"}})


class Life:
    """Things that happen to a cluster, one after the other."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.volumes: set[int] = set()
        self.stage = SimulatedCluster(
            *(node(f"n{i}") for i in range(3)),
            make("StorageClass", "now", provisioner="csi.example.com"),
            make("StorageClass", "wait", provisioner="csi.example.com", volumeBindingMode="WaitForFirstConsumer"),
            workload("Deployment", "web", replicas=4),
            workload("StatefulSet", "db", replicas=3, volumeClaimTemplates=CLAIMS),
            workload("DaemonSet", "agent"),
            workload("Job", "sum", parallelism=3, completions=9, completionMode="Indexed"),
            grace=self.rng.choice((0.0, 30.0)),
        )

    def step(self) -> None:
        rng, stage = self.rng, self.stage
        pods = stage.pods()
        match rng.randrange(8):
            case 0 | 1 if anywhere := [each for each in pods if each.metadata.labels["app"] != "agent"]:
                stage.bind(rng.choice(anywhere).metadata.name, f"n{rng.randrange(3)}")
            case 2 if pods:
                stage.delete(rng.choice(pods).metadata.name)
            case 3:
                name = f"n{rng.randrange(3)}"
                stage.world.delete(node(name))
                if rng.random() < 0.7:
                    stage.put(node(name))
            case 4 if (number := rng.randrange(4)) not in self.volumes:
                self.volumes.add(number)
                stage.put(volume(number, rng.choice(CLASSES)))
            case 5:
                name, kind = f"c{rng.randrange(4)}", rng.choice(CLASSES)
                if stage.world.get(api.PersistentVolumeClaim, name, "default") is None:
                    stage.put(make("PersistentVolumeClaim", name, spec={"storageClassName": kind}))
            case 6 if claims := list(stage.world.all(api.PersistentVolumeClaim)):
                stage.world.delete(rng.choice(claims))
            case _:
                stage.now += 10
                stage.world.tick()
        stage.settle()

    def check(self) -> None:
        self._check_workloads()
        self._check_volumes()

    def _check_workloads(self) -> None:
        world = self.stage.world
        active = [pod for pod in self.stage.pods() if pod.metadata.deletion_timestamp is None]
        apps = [pod.metadata.labels["app"] for pod in active]
        assert apps.count("web") == 4
        assert apps.count("sum") == 3
        assert apps.count("agent") <= world.count(api.Node)
        assert apps.count("db") <= 3
        indexes = [each.metadata.annotations[INDEX] for each in active if each.metadata.labels["app"] == "sum"]
        assert len(set(indexes)) == 3
        assert all(world.get(api.Node, pod.spec.node_name) for pod in active if pod.spec.node_name)

    def _check_volumes(self) -> None:
        world = self.stage.world
        bound = [claim for claim in world.all(api.PersistentVolumeClaim) if claim.status.phase == "Bound"]
        assert len({claim.spec.volume_name for claim in bound}) == len(bound)
        for claim in bound:
            found = world.get(api.PersistentVolume, claim.spec.volume_name)
            assert found is not None
            assert found.spec.claim_ref is not None
            assert found.spec.claim_ref.uid == claim.metadata.uid
            assert found.status.phase == "Bound"


INDEX = "batch.kubernetes.io/job-completion-index"


@given(st.integers(0, 10**6))
def test_whatever_happens_the_controllers_put_it_right(seed: int) -> None:
    life = Life(seed)
    for _ in range(25):
        life.step()
        life.check()


@given(st.integers(0, 10**6))
def test_what_happened_happens_again(seed: int) -> None:
    lives = Life(seed), Life(seed)
    for life in lives:
        for _ in range(15):
            life.step()
    assert lives[0].stage.seen == lives[1].stage.seen
