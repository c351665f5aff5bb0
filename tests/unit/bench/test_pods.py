from stowplan.bench.pods import RUNNING, pods
from stowplan.bench.scenario import PodSeries, load_scenario
from stowplan.cache import Cluster


def test_pods_are_always_the_same() -> None:
    series = load_scenario("unique").incoming
    assert list(pods(series, 20)) == list(pods(series, 20))


def test_each_pod_has_its_own_name_uid_and_token_volume() -> None:
    made = [*pods(PodSeries(), 50), *pods(PodSeries(), 50, RUNNING)]
    assert len({pod.metadata.name for pod in made}) == 100
    assert len({pod.metadata.uid for pod in made}) == 100
    assert len({pod.spec.volumes[0].name for pod in made}) == 100
    assert all(len(pod.metadata.uid) == 36 for pod in made)


def test_running_pods_are_on_the_nodes_that_they_are_given() -> None:
    series = load_scenario("preemption").running
    assert series is not None
    made = list(pods(series, 21, RUNNING, lambda number: f"node-{number % 4}"))
    assert [pod.spec.node_name for pod in made[:5]] == ["node-0", "node-1", "node-2", "node-3", "node-0"]
    assert {pod.spec.priority for pod in made} == {0, 10, 20}
    assert all(pod.status.start_time for pod in made)


def test_replicas_share_a_template() -> None:
    cluster = Cluster()
    made = [cluster.pod(pod) for pod in pods(load_scenario("basic").incoming, 10)]
    assert len({id(pod.template) for pod in made}) == 1
