import pytest
from tests.unit.bench.fakes import FakeDecision, FakeProposal, PodSeries, fake_cluster, running, scenario

from stowplan.bench.trial import DecisionTrial


def test_pods_are_decided_and_timed_one_by_one() -> None:
    made, decider = fake_cluster(scenario())
    trial = DecisionTrial(scenario(), made, 30, seed=0, checks=10)
    trial.advance(12)
    assert len(trial.latencies) == 12
    trial.advance(100)
    assert len(trial.latencies) == len(made.cluster.pods) == 30
    assert min(trial.latencies) > 0
    assert trial.cpu > 0
    assert trial.checked == decider.fresh == 10
    assert (trial.disagreements, trial.unplaced) == ([], 0)


def test_warm_pods_are_placed_but_neither_timed_nor_checked() -> None:
    given = scenario(warm=7, incoming=PodSeries(templates=7))
    made, decider = fake_cluster(given)
    trial = DecisionTrial(given, made, 14, seed=0)
    assert len(made.cluster.pods) == 7
    assert decider.fresh == 0
    trial.advance(14)
    assert len(trial.latencies) == 14
    assert len(made.cluster.pods) == 21


def test_pods_without_a_node_are_counted() -> None:
    made, _ = fake_cluster(scenario(), 2, room=3)
    trial = DecisionTrial(scenario(), made, 10, seed=0)
    trial.advance(10)
    assert trial.unplaced == 4


@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_checked_follows_from_the_seed(seed: int) -> None:
    def checked(seed: int) -> list[str]:
        made, decider = fake_cluster(scenario())
        names: list[str] = []
        afresh = decider.decide_afresh
        decider.decide_afresh = lambda pod: names.append(pod.name) or afresh(pod)  # type: ignore[method-assign, func-returns-value]
        DecisionTrial(scenario(), made, 30, seed=seed, checks=5).advance(30)
        return names

    assert len(checked(seed)) == 5
    assert checked(seed) == checked(seed)
    assert checked(1) != checked(2)


def test_time_spent_on_checks_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0

    def clock() -> int:
        return now

    monkeypatch.setattr("stowplan.bench.trial.perf_counter_ns", clock)
    monkeypatch.setattr("stowplan.bench.trial.process_time_ns", clock)
    made, decider = fake_cluster(scenario())
    decide = decider.decide

    def slow(cost: int) -> object:
        def decide_slowly(pod: object) -> FakeDecision:
            nonlocal now
            now += cost
            return decide(pod)  # type: ignore[arg-type]

        return decide_slowly

    decider.decide = slow(3)  # type: ignore[method-assign, assignment]
    decider.decide_afresh = slow(1000)  # type: ignore[method-assign, assignment]
    trial = DecisionTrial(scenario(), made, 20, seed=0, checks=20)
    trial.advance(20)
    assert trial.latencies == [3] * 20
    assert trial.cpu == 60


def test_a_node_that_is_another_without_caches_is_a_disagreement() -> None:
    made, decider = fake_cluster(scenario())
    decider.lies = lambda decision: FakeDecision("node-4")
    trial = DecisionTrial(scenario(), made, 3, seed=0)
    trial.advance(3)
    assert trial.disagreements[0] == "small: pod default/pod-0: node-0 with caches, node-4 without"
    assert len(trial.disagreements) == trial.checked == 3


def test_decisions_are_made_again_with_the_same_random_state() -> None:
    def placements(checks: int) -> dict[str, str]:
        given = scenario(running=running(3))
        made, _ = fake_cluster(given, room=3, evicts=True)
        trial = DecisionTrial(given, made, 10, seed=0, checks=checks)
        trial.advance(10)
        assert (trial.checked, trial.disagreements) == (checks, [])
        return {pod.name: pod.node_name for pod in made.cluster.pods.values()}

    assert placements(checks=10) == placements(checks=0)


@pytest.mark.parametrize(
    ("lie", "found"),
    [
        (lambda d: FakeDecision(), "no node"),
        (lambda d: FakeDecision("", FakeProposal(d.preemption.node_name, ())), "node-0 instead of "),
        (lambda d: FakeDecision("", FakeProposal("node-1", d.preemption.victims)), "node-1 instead of default/pod-1"),
    ],
)
def test_other_victims_are_a_disagreement(lie: object, found: str) -> None:
    given = scenario(running=running(2))
    made, decider = fake_cluster(given, 1, room=2, evicts=True)
    decider.lies = lie  # type: ignore[assignment]
    trial = DecisionTrial(given, made, 1, seed=0)
    trial.advance(1)
    assert len(trial.disagreements) == 1
    assert "node-0 instead of default/pod-10000000 with caches, " + found in trial.disagreements[0]
