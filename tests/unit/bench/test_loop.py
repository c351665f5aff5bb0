from tests.unit.bench.fakes import scenario

from stowplan.bench.loop import LoopTrial
from stowplan.bench.runner import Runner
from stowplan.bench.scenario import load_scenario


def test_every_pod_is_clocked_and_bound() -> None:
    trial = LoopTrial(scenario(warm=2), 5, 30, seed=0)
    trial.advance(20)
    trial.advance(20)
    assert len(trial.latencies) == 30
    assert trial.cpu > 0
    engine = trial._engine
    assert len(engine.cluster.pods) == 32
    assert not list(engine.queued_pods())


def test_the_loop_is_compared_with_bare_decisions() -> None:
    (result,) = Runner(nodes=10, pods=40, calibrate=lambda: 1.0).run(load_scenario("loop"))
    assert (result.scenario, result.nodes, result.pods) == ("loop", 10, 40)
    bare = result.peers["decisions"]["per_second"]
    assert result.ratios["decisions"]["per_second"] == result.per_second / bare
    assert result.min_rate_ratio == 0.6
