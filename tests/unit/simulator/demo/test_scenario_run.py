"""The whole demo on a small cluster, in simulated time only."""

from collections import Counter

import pytest

from stowplan import api
from stowplan.simulator.demo.scenario import load_scenario
from stowplan.simulator.demo.scenario_run import ScenarioRun
from stowplan.simulator.report import SimulationReport, report_of
from stowplan.simulator.simulation import EPOCH

NODES = 60


def run(stage: ScenarioRun, until: float) -> ScenarioRun:
    while stage.simulation.step() or stage.simulation.advance(EPOCH + until):
        pass
    stage.simulation.clock.now = EPOCH + until
    return stage


def report(stage: ScenarioRun) -> SimulationReport:
    return report_of(stage.simulation, stage.recorder, {})


def pods(stage: ScenarioRun, app: str) -> list[api.Pod]:
    return [
        pod for pod in stage.simulation.api_server.all(api.Pod) if pod.metadata.labels.get("app", "").startswith(app)
    ]


@pytest.fixture(scope="module")
def finished() -> ScenarioRun:
    scenario = load_scenario()
    return run(ScenarioRun(scenario, NODES, 0), scenario.seconds)


def test_it_ends_with_what_can_never_fit(finished: ScenarioRun) -> None:
    waiting = {group.workload.split("/")[1] for group in report(finished).pending}
    assert {"giant", "lunar", "companion"} <= waiting <= {"giant", "lunar", "companion", "training"}
    assert report(finished).summary.gated == 0


def test_urgent_pods_evicted_batch_pods(finished: ScenarioRun) -> None:
    pairs = Counter((each.preemptor_workload[:20], each.victim_workload[:9]) for each in finished.recorder.evictions)
    assert {victim for _, victim in pairs} == {"Job/batch"}
    assert {preemptor for preemptor, _ in pairs} <= {f"Deployment/checkout-{n}"[:20] for n in range(1, 6)}
    assert all(pod.spec.node_name for pod in pods(finished, "checkout"))


def test_databases_run_with_their_volumes(finished: ScenarioRun) -> None:
    databases = pods(finished, "database")
    assert len(databases) == 3 * round(9 * NODES / 300)
    assert all(pod.spec.node_name for pod in databases)
    assert finished.simulation.api_server.count(api.PersistentVolume) == len(databases)


def test_nodes_were_lost_and_their_agents_with_them(finished: ScenarioRun) -> None:
    nodes = {node.metadata.name for node in finished.simulation.api_server.all(api.Node)}
    assert len(nodes) == NODES - round(9 * NODES / 300)
    assert {pod.spec.node_name for pod in pods(finished, "log-agent")} == nodes
    assert {pod.spec.node_name for pod in finished.simulation.api_server.all(api.Pod)} <= {*nodes, ""}


def test_gates_hold_until_they_are_lifted() -> None:
    stage = run(ScenarioRun(load_scenario(), 30, 0), 22.0)
    assert not any(pod.spec.node_name for pod in pods(stage, "release"))
    assert report(stage).summary.gated == len(pods(stage, "release")) > 0
    run(stage, 24.0)
    assert report(stage).summary.gated == 0


def test_every_step_is_announced_once(finished: ScenarioRun) -> None:
    assert [entry.note for entry in finished.events.announcements] == [step.say for step in finished.scenario.steps]


def test_the_seed_decides() -> None:
    def placements(seed: int) -> list[str]:
        return [f"{pod.pod} {pod.node}" for pod in report(run(ScenarioRun(load_scenario(), 12, seed), 6.0)).pods]

    assert placements(1) == placements(1) != placements(2)
