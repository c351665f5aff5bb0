import pytest
from tests.unit.bench.fakes import FakeDecision, FakeProposal, fake_stage, running, scenario

from stowplan import api
from stowplan.bench.pods import pods
from stowplan.bench.scenario import NAMES, PodSeries, load_scenario
from stowplan.bench.scenario_cluster import build_stage
from stowplan.framework import Pod


def test_the_cluster_holds_nodes_objects_and_running_pods() -> None:
    service = {"kind": "Service", "metadata": {"name": "web", "namespace": "default"}, "spec": {"selector": {"a": "b"}}}
    stage, _ = fake_stage(scenario(running=running(3), objects=(service,)), 4)
    assert [len(info.pods) for info in stage.cluster.nodes] == [3, 3, 3, 3]
    found = stage.cluster.stores.of(api.Service).get("web", "default")
    assert found is not None
    assert found.spec.selector == {"a": "b"}


def test_a_placed_pod_counts_on_its_node() -> None:
    stage, _ = fake_stage(scenario())
    pod = _pod(stage.cluster.pod)
    assert stage.place(pod, FakeDecision("node-2"))
    assert [len(info.pods) for info in stage.cluster.nodes] == [0, 0, 1, 0, 0]


def test_a_pod_that_fits_nowhere_is_not_placed() -> None:
    stage, _ = fake_stage(scenario())
    assert not stage.place(_pod(stage.cluster.pod), FakeDecision())
    assert not stage.cluster.pods


def test_an_eviction_takes_the_victims_away_and_decides_again() -> None:
    stage, decider = fake_stage(scenario(running=running(2)), 2, room=2, evicts=True)
    pod = _pod(stage.cluster.pod)
    decision = decider.decide(pod)
    assert isinstance(decision.preemption, FakeProposal)
    assert stage.place(pod, decision)
    assert pod.node_name == pod.nominated_node_name == decision.preemption.node_name
    assert len(stage.cluster.pods) == 4
    assert decision.preemption.victims[0].uid not in stage.cluster.pods
    assert stage.nominator.node_of(pod) == ""


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("memory", "scaling")])
def test_real_profiles_place_pods_of_every_scenario(name: str) -> None:
    given = load_scenario(name)
    stage = build_stage(given, 20, 0)
    for source in pods(given.incoming, 3):
        pod = stage.cluster.pod(source)
        decision = stage.profile.decide(pod)
        again = stage.profile.decide_afresh(pod)
        assert decision.node_name == again.node_name
        assert (decision.preemption is not None) == name.startswith("preemption")
        assert stage.place(pod, decision)


def _pod(intern: object) -> Pod:
    assert callable(intern)
    pod = intern(next(pods(PodSeries(), 1)))
    assert isinstance(pod, Pod)
    return pod
