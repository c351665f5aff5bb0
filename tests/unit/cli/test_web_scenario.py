"""`stowplan web -f` with a Scenario: a scenario over simulated time, replayed by the page."""

from __future__ import annotations

import asyncio
from pathlib import Path

from click.testing import CliRunner

from stowplan.cli.demo_page import timeline_state
from stowplan.cli.main import cli
from stowplan.cli.web_state import state_source
from stowplan.web import wire
from stowplan.web.owner import ThreadOwner

SCENARIO = """
apiVersion: simulation.stowplan/v1alpha1
kind: Scenario
metadata: {name: hours}
seed: 1
ttl: 10m
until: {time: 2h}
nodes:
  pools:
  - name: general
    count: 2
    template: {status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}}
workloads:
- name: batch
  template:
    apiVersion: v1
    kind: Pod
    spec: {containers: [{name: m, image: m, resources: {requests: {cpu: "1"}}}]}
  arrivals: {every: 5m}
  duration: 1h
"""


def test_a_scenario_has_a_timeline_in_seconds(tmp_path: Path) -> None:
    file = tmp_path / "hours.yaml"
    file.write_text(SCENARIO)
    state, owner = timeline_state(str(file), None, (), None), ThreadOwner()
    try:
        source = state_source(state, owner)
        hello = asyncio.run(source.hello())
        events = asyncio.run(source.run_events(0))
        pods = asyncio.run(source.pods())
    finally:
        owner.close()
    assert (hello.source, hello.kind, hello.unit) == ("hours.yaml", "simulation", "seconds")
    assert {"run", "history"} <= set(hello.features)
    assert events.end == 7200.0
    counts = {kind: events.kind.count(kind) for kind in (wire.CREATED, wire.BOUND, wire.GONE, wire.FAILED)}
    assert counts[wire.CREATED] == pods.number > 20
    assert counts[wire.BOUND] - counts[wire.GONE] == hello.pods == 8, "finished pods are gone while their object stays"
    assert 0 < counts[wire.FAILED] <= pods.number, "failures that repeat are recorded once"


def test_a_scenario_with_a_fault_gets_one_line(tmp_path: Path) -> None:
    file = tmp_path / "hours.yaml"
    file.write_text(SCENARIO.replace("every: 5m", "every: soon"))
    result = CliRunner().invoke(cli, ["web", "-f", str(file)])
    assert (result.exit_code, "arrivals.every" in result.output) == (2, True)
