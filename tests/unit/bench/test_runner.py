import gc
from collections.abc import Callable

import pytest
from tests.unit.bench.fakes import FakeDecision, fake_cluster, scenario

from stowplan.bench import runner as module
from stowplan.bench.memory import Load
from stowplan.bench.runner import Runner
from stowplan.bench.scenario import Scenario
from stowplan.bench.scenario_cluster import ScenarioCluster


def build(given: Scenario, count: int, seed: int) -> ScenarioCluster:
    return fake_cluster(given, count, seed)[0]


def quick(**options: object) -> Runner:
    return Runner(calibrate=lambda: 0.5, build_scenario_cluster=build, **options)  # type: ignore[arg-type]


def test_a_result_says_what_was_measured() -> None:
    (result,) = quick().run(scenario(floor=100))
    assert (result.scenario, result.nodes, result.pods) == ("small", 5, 30)
    assert (result.checked, result.agreed, result.unplaced) == (30, 30, 0)
    assert result.calibration_s == 0.5
    assert result.scaled_per_second == pytest.approx(result.per_second / 2)
    assert result.floor == 100
    assert 0 < result.p50_us <= result.p99_us
    assert result.cpu_us_per_pod > 0
    assert result.rss_mib > 10
    assert (result.peers, result.ratios) == ({}, {})


def test_calibration_is_the_mean_of_before_and_after() -> None:
    times = iter([1.0, 3.0])
    (result,) = Runner(calibrate=lambda: next(times), build_scenario_cluster=build).run(scenario())
    assert result.calibration_s == 2.0


@pytest.mark.parametrize(
    ("options", "nodes", "pods"), [({"nodes": 3}, 3, 30), ({"pods": 7}, 5, 7), ({"nodes": 2, "pods": 1}, 2, 1)]
)
def test_numbers_can_be_given(options: dict[str, int], nodes: int, pods: int) -> None:
    (result,) = quick(**options).run(scenario())
    assert (result.nodes, result.pods) == (nodes, pods)


def test_scaling_compares_the_costs_on_its_own_sizes() -> None:
    given = Scenario(name="scaling", about="", kind="scaling", pods=10, nodes=(2, 4), max_cost_ratio=2)
    small, large = quick(nodes=3).run(given)
    assert (small.nodes, large.nodes) == (2, 4)
    assert small.cost_ratio == 1
    assert large.cost_ratio == pytest.approx(large.cpu_us_per_pod / small.cpu_us_per_pod)
    assert large.max_cost_ratio == 2


def test_memory_is_that_of_the_other_process(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def load_apart(*args: object) -> Load:
        asked.append(args)
        return Load([1000, 3000], 5000, 123.0)

    monkeypatch.setattr(module, "load_apart", load_apart)
    given = scenario(kind="memory", max_rss_mib=250.0)
    (result,) = quick(seed=4).run(given)
    assert asked == [(given, 5, 30, 4)]
    assert (result.rss_mib, result.max_rss_mib, result.checked) == (123.0, 250.0, 0)
    assert (result.pods, result.p50_us, result.cpu_us_per_pod) == (2, 2.0, 2.5)


def test_disagreements_are_collected() -> None:
    def lying(given: Scenario, count: int, seed: int) -> ScenarioCluster:
        stage, decider = fake_cluster(given, count, seed)
        decider.lies = lambda decision: FakeDecision()
        return stage

    runner = Runner(calibrate=lambda: 1.0, build_scenario_cluster=lying)
    (result,) = runner.run(scenario(pods=4))
    assert (result.checked, result.agreed) == (4, 0)
    assert len(runner.disagreements) == 4


def test_progress_tells_what_is_going_on() -> None:
    messages: list[str] = []
    tell: Callable[[str], None] = messages.append
    quick(progress=tell).run(scenario())
    assert messages == [
        "small: setting up 5 nodes",
        "small: deciding 30 pods",
        "small: checking 30 decisions",
        "small: setting up 5 nodes",
    ]


def test_two_runs_with_one_seed_must_agree() -> None:
    """The stage of the check decides otherwise than the one that was measured."""
    stages = iter((fake_cluster(scenario(), 5, 0)[0], fake_cluster(scenario(), 5, 0, room=3)[0]))
    runner = Runner(calibrate=lambda: 0.5, build_scenario_cluster=lambda *_: next(stages))
    runner.run(scenario())
    assert any("differ between two runs" in text for text in runner.disagreements)


def test_the_garbage_collector_is_left_as_it_was() -> None:
    frozen, thresholds = gc.get_freeze_count(), gc.get_threshold()
    quick().run(scenario())
    assert gc.get_freeze_count() <= frozen
    assert gc.get_threshold() == thresholds
