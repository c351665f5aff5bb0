import pytest
from tests.unit.bench.fakes import FakeDecision, FakeProposal, fake_cluster, running, scenario

from stowplan import api
from stowplan.bench.object_series import pods
from stowplan.bench.scenario import NAMES, PodSeries, load_scenario
from stowplan.bench.scenario_cluster import build_scenario_cluster
from stowplan.framework import Pod


def test_the_cluster_holds_nodes_objects_and_running_pods() -> None:
    service = {"kind": "Service", "metadata": {"name": "web", "namespace": "default"}, "spec": {"selector": {"a": "b"}}}
    made, _ = fake_cluster(scenario(running=running(3), objects=(service,)), 4)
    assert [len(info.pods) for info in made.cluster.nodes] == [3, 3, 3, 3]
    found = made.cluster.stores.of(api.Service).get("web", "default")
    assert found is not None
    assert found.spec.selector == {"a": "b"}


def test_a_placed_pod_counts_on_its_node() -> None:
    made, _ = fake_cluster(scenario())
    pod = _pod(made.cluster.pod)
    assert made.place(pod, FakeDecision("node-2"))
    assert [len(info.pods) for info in made.cluster.nodes] == [0, 0, 1, 0, 0]


def test_a_pod_that_fits_nowhere_is_not_placed() -> None:
    made, _ = fake_cluster(scenario())
    assert not made.place(_pod(made.cluster.pod), FakeDecision())
    assert not made.cluster.pods


def test_an_eviction_takes_the_victims_away_and_decides_again() -> None:
    made, decider = fake_cluster(scenario(running=running(2)), 2, room=2, evicts=True)
    pod = _pod(made.cluster.pod)
    decision = decider.decide(pod)
    assert isinstance(decision.preemption, FakeProposal)
    assert made.place(pod, decision)
    assert pod.node_name == pod.nominated_node_name == decision.preemption.node_name
    assert len(made.cluster.pods) == 4
    assert decision.preemption.victims[0].uid not in made.cluster.pods
    assert made.nominator.node_of(pod) == ""


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("memory", "scaling")])
def test_real_profiles_place_pods_of_every_scenario(name: str) -> None:
    given = load_scenario(name)
    made = build_scenario_cluster(given, 20, 0)
    for source in pods(given.incoming, 3):
        pod = made.cluster.pod(source)
        decision = made.profile.decide(pod)
        again = made.profile.decide_afresh(pod)
        assert decision.node_name == again.node_name
        assert (decision.preemption is not None) == name.startswith("preemption")
        assert made.place(pod, decision)


def _pod(intern: object) -> Pod:
    assert callable(intern)
    pod = intern(next(pods(PodSeries(), 1)))
    assert isinstance(pod, Pod)
    return pod
