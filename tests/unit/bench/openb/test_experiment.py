"""Experiments through the engine equal a plain reference, arrival by arrival."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.unit.bench.openb.openb_data import Reference, write_trace

from stowplan import api
from stowplan.bench.openb import POLICIES, OpenbExperiment, run_experiment
from stowplan.bench.openb.experiment import _Run
from stowplan.bench.openb.load_curve import MAX_LOAD_PERCENT, LoadCurve
from stowplan.cli.bench import bench
from stowplan.cli.main import cli
from stowplan.errors import InputError
from stowplan.study.sweep import read_study, sweep

EXACT = [policy for policy in POLICIES if policy != "Random"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("openb")
    write_trace(made)
    return made


@pytest.mark.parametrize("policy", EXACT)
def test_every_placement_and_both_metrics_equal_the_reference(folder: Path, policy: str) -> None:
    reference = Reference(folder)
    ranks, allocation, fragmentation = reference.run(policy)
    run = _Run(OpenbExperiment(data=str(folder), policy=policy))
    for number in run.arrive():
        assert run._curve._allocated[-1] == allocation[number - 1]
        assert run._curve._fragmented[-1] == pytest.approx(fragmentation[number - 1], abs=1e-9)
    placed = {pod.metadata.name: int(pod.spec.node_name[:4]) for pod in run._simulation.api_server.all(api.Pod)}
    found = [placed.get(arrival.key, -1) for arrival in run._loader.selected()]
    assert found == ranks
    assert -1 in ranks
    result = run.result(0.0)
    assert result.placed == sum(rank >= 0 for rank in ranks)
    for pod in run._simulation.api_server.all(api.Pod):
        wanted = pod.spec.containers[0].resources.requests.get("alibabacloud.com/gpu-milli", 0)
        assert bool(wanted) == ("alibabacloud.com/gpu-index" in pod.metadata.annotations)


@pytest.mark.parametrize("policy", POLICIES)
def test_decisions_equal_those_without_kept_answers(folder: Path, policy: str) -> None:
    run = _Run(OpenbExperiment(data=str(folder), policy=policy, limit=60))
    profile = next(iter(run._simulation.engine.profiles.values()))
    decide = profile.decide

    def checked(pod):  # type: ignore[no-untyped-def]
        decision = decide(pod)
        assert decision.node_name == profile.decide_afresh(pod).node_name
        return decision

    profile.decide = checked  # type: ignore[method-assign]
    assert len(list(run.arrive())) == 60


def test_equal_experiments_have_equal_results(folder: Path) -> None:
    for order in ("file", "shuffle"):
        experiment = OpenbExperiment(data=str(folder), policy="Random", order=order)  # type: ignore[arg-type]
        one, other = (run_experiment(experiment) for _ in range(2))
        assert (one.allocation, one.fragmentation) == (other.allocation, other.fragmentation)
    with pytest.raises(InputError, match='unknown policy "Tetris"'):
        run_experiment(OpenbExperiment(data=str(folder), policy="Tetris"))


def test_points_without_arrivals_take_their_neighbours() -> None:
    curve = LoadCurve(1000)
    for arrived, used in ((4, 0), (6, 10), (30, 20), (50, 30)):
        curve.note(arrived, used, 99, 1)
    points = curve.allocation()
    assert points[:7] == [0.0, 1.0, 1.5, 2.0, 2.5, 3.0, 3.0]
    assert len(points) == MAX_LOAD_PERCENT + 1


class Command:
    """The command, with published results that are ours."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def publish(self, *policies: str, shift: float = 0.0) -> None:
        results = [run_experiment(OpenbExperiment(data=str(self.folder), policy=policy)) for policy in policies]
        for name, field in (("allocation", "allocation"), ("frag_ratio", "fragmentation")):
            with (self.folder / f"expected_{name}.csv").open("w", newline="") as file:
                rows = csv.writer(file)
                rows.writerow(["workload", "sc_policy", "tune", "seed", *range(MAX_LOAD_PERCENT + 1)])
                for number, result in enumerate(results, 1):
                    values = [value + shift for value in getattr(result, field)]
                    rows.writerow(["openb_pod_list_default", f"{number:02d}-{result.policy}", 1.3, 42, *values])

    def run(self, *args: str) -> Result:
        return CliRunner().invoke(bench, ["openb", f"--data={self.folder}", *args])


@pytest.fixture
def command(folder: Path) -> Iterator[Command]:
    yield Command(folder)
    for path in folder.glob("expected_*"):
        path.unlink()


def test_the_command_compares_with_published_results(command: Command) -> None:
    command.publish("BestFit", "GpuPacking")
    outcome = command.run("--policy=BestFit", "--policy=GpuPacking", "--policy=Random")
    assert outcome.exit_code == 0, outcome.output
    heading, *rows = outcome.stdout.splitlines()
    assert heading.split()[:3] == ["trace", "policy", "seed"]
    assert [row.split()[1] for row in rows] == ["Random", "GpuPacking", "BestFit"]
    assert ["131, 131" in row for row in rows] == [False, True, True]


def test_the_command_fails_for_differences(command: Command) -> None:
    command.publish("BestFit", shift=0.01)
    outcome = command.run("--policy=BestFit", "--json")
    assert outcome.exit_code == 1
    found = json.loads(outcome.stdout)
    assert (found["policy"], found["equal_allocation"], found["equal_fragmentation"]) == ("BestFit", 0, 0)
    assert "default/BestFit/42: 0 and 0 of 131 points equal" in outcome.stderr


def test_without_published_results_nothing_is_compared(command: Command) -> None:
    outcome = command.run("--policy=DotProd", "--jobs=2")
    assert outcome.exit_code == 0
    assert "results are not compared" in outcome.stderr
    assert command.run("--seeds=4x").exit_code == 2


def test_a_folder_that_cannot_be_used_is_one_line(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(cli, ["bench", "openb", f"--data={tmp_path / 'none'}"])
    assert (outcome.exit_code, outcome.stderr) == (2, f"stowplan: {tmp_path / 'none'}: no such file or folder\n")


def test_a_range_of_seeds_has_numbers(command: Command) -> None:
    outcome = command.run("--seeds=51-42")
    assert outcome.exit_code == 2
    assert "the range 51-42 has no numbers" in outcome.stderr


def test_policies_and_seeds_in_one_sweep(folder: Path, tmp_path: Path) -> None:
    head = {"apiVersion": "simulation.stowplan/v1alpha1", "kind": "Study", "seeds": [42]}
    runner = {"runner": "stowplan.bench.openb.sweep_runner:run_openb", "parameters": {"data": str(folder), "limit": 40}}
    study = {**head, **runner, "vary": {"policy": ["BestFit", "FGD"]}, "maximise": ["allocation.60"]}
    results = sweep(read_study(json.dumps(study).encode()), tmp_path)
    assert not results.failed
    for row in results.rows:
        alone = run_experiment(
            OpenbExperiment(data=str(folder), policy=row.variation["policy"], seed=row.seed, limit=40)
        )
        assert row.metrics["placed"] == alone.placed
        assert row.metrics["allocation.60"] == alone.allocation[60]
        assert row.metrics["fragmentation.20"] == alone.fragmentation[20]
