"""Benchmarks of pod groups."""

import json

from click.testing import CliRunner

from stowplan.bench.groups import GROUP_SCENARIOS, GroupTrialRunner
from stowplan.cli.bench import bench


def test_members_are_bound_or_not() -> None:
    runner = GroupTrialRunner(node_count=40, rounds=2, calibrate=lambda: 0.5)
    for name, bound in (("gang", 60), ("topology", 20), ("unschedulable", 0)):
        scenario = GROUP_SCENARIOS[name]
        members = 20 if scenario.domains else 60
        found = runner.run(
            type(scenario)(name=name, members=members, domains=scenario.domains and 4, lacking=scenario.lacking)
        )
        assert (found.bound, found.rounds, found.scaled_ms) == (bound, 2, found.cpu_ms / 0.5)


def test_command() -> None:
    result = CliRunner().invoke(bench, ["groups", "--scenario", "gang", "--nodes", "50", "--rounds", "1"])
    assert result.exit_code == 0
    heading, row = result.stdout.splitlines()
    assert heading.split()[:5] == ["scenario", "nodes", "members", "domains", "bound"]
    assert row.split()[:5] == ["gang", "50", "1,000", "-", "1,000"]
    result = CliRunner().invoke(bench, ["groups", "--scenario", "gang", "--nodes", "50", "--rounds", "1", "--json"])
    assert json.loads(result.stdout)["max_scaled_ms"] == 60
