import json
from functools import partial
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result
from tests.unit.bench.fakes import FakeDecision, fake_cluster, scenario
from tests.unit.bench.test_result import CONTRACT, RESULT

from stowplan.bench import NAMES, Runner, Scenario
from stowplan.bench.scenario_cluster import ScenarioCluster
from stowplan.cli import bench as module
from stowplan.cli.bench import bench, table


def run(monkeypatch: pytest.MonkeyPatch, *args: str, lie: str = "") -> Result:
    """Run the command on small scenarios and fake profiles; one named as `lie` decides otherwise without caches."""

    def build(given: Scenario, count: int, seed: int) -> ScenarioCluster:
        made, decider = fake_cluster(given, count, seed)
        if given.name == lie:
            decider.lies = lambda decision: FakeDecision("node-4")
        return made

    monkeypatch.setattr(module, "Runner", partial(Runner, calibrate=lambda: 0.5, build_scenario_cluster=build))
    monkeypatch.setattr(module, "load_scenario", partial(scenario, pods=20, floor=100.0))
    return CliRunner().invoke(bench, ["decisions", *args])


def test_json_has_a_line_for_each_scenario_with_the_fields_of_the_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = run(monkeypatch, "--json", "--scenario", "basic", "--scenario", "spread")
    assert outcome.exit_code == 0
    lines = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert [line["scenario"] for line in lines] == ["basic", "spread"]
    for line in lines:
        assert line.keys() == CONTRACT.keys()
        assert line["scaled_per_second"] == pytest.approx(line["per_second"] * line["calibration_s"], rel=1e-3)
        assert {key: line[key] for key in ("nodes", "pods", "checked", "agreed", "floor")} == {
            "nodes": 5,
            "pods": 20,
            "checked": 20,
            "agreed": 20,
            "floor": 100.0,
        }


def test_all_scenarios_run_unless_some_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = run(monkeypatch)
    assert outcome.exit_code == 0
    assert [line.split()[0] for line in outcome.stdout.splitlines()] == ["scenario", *NAMES]


def test_progress_goes_to_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = run(monkeypatch, "--scenario", "basic")
    assert "basic: deciding 20 pods\n" in outcome.stderr
    assert "deciding" not in outcome.stdout


def test_sizes_can_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = run(monkeypatch, "--json", "--scenario", "basic", "--nodes", "3", "--pods", "4")
    line = json.loads(outcome.stdout)
    assert (line["nodes"], line["pods"]) == (3, 4)


@pytest.mark.parametrize("output", [[], ["--json"]])
def test_a_disagreement_fails_the_command_after_all_results(monkeypatch: pytest.MonkeyPatch, output: list[str]) -> None:
    outcome = run(monkeypatch, *output, "--scenario", "basic", "--scenario", "spread", lie="basic")
    assert outcome.exit_code == 1
    assert "spread" in outcome.stdout
    assert "stowplan: basic: pod default/pod-0: node-0 with caches, node-4 without\n" in outcome.stderr
    assert "stowplan: spread" not in outcome.stderr
    assert outcome.stderr.count("with caches") == 10
    assert outcome.stderr.endswith("stowplan: decisions that differ without caches: 20\n")


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["--scenario", "nonsense"], "'nonsense' is not one of"),
        (["--nodes", "0"], "0 is not in the range"),
        (["--pods", "many"], "'many' is not a valid integer"),
    ],
)
def test_bad_usage_is_refused(monkeypatch: pytest.MonkeyPatch, args: list[str], complaint: str) -> None:
    outcome = run(monkeypatch, *args)
    assert outcome.exit_code == 2
    assert complaint in outcome.stderr


def test_the_table_is_aligned() -> None:
    long = msgspec.structs.replace(RESULT, scenario="preemption-unique", floor=None, per_second=9.0)
    lines = table([RESULT, long])
    assert len({len(line) for line in lines}) == 1
    assert lines[1].split() == [
        "basic",
        "5,000",
        "20,000",
        "1,235",
        "617",
        "20,000",
        "1.5",
        "1.2",
        "9.0",
        "100",
        "200/200",
    ]
    assert lines[2].split()[3:6] == ["9", "617", "-"]


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        ({"max_rss_mib": 250.0}, "basic: 100 MiB, limit 250"),
        ({"cost_ratio": 1.256, "max_cost_ratio": 2.0}, "basic: 5,000 nodes cost 1.26 times as much, limit 2.0"),
        ({"unplaced": 1234}, "basic: 1,234 pods were not placed"),
    ],
)
def test_notes_stand_below_the_table(changes: dict[str, Any], note: str) -> None:
    assert table([msgspec.structs.replace(RESULT, **changes)])[2:] == [note]


def test_the_smallest_cluster_of_a_comparison_needs_no_note() -> None:
    assert len(table([msgspec.structs.replace(RESULT, cost_ratio=1.0, max_cost_ratio=2.0)])) == 2
