"""`stowplan web -f` with a Scenario: a scenario over simulated time, replayed by the page."""

from __future__ import annotations

import asyncio
from pathlib import Path

from click.testing import CliRunner
from tests.unit.study.test_shadow import write

from stowplan.cli.demo_page import recorded_state, timeline_state
from stowplan.cli.main import cli
from stowplan.cli.web_state import state_source
from stowplan.config.defaults import default_configuration
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


def test_a_recording_of_a_cluster_is_replayed_and_not_scheduled(tmp_path: Path) -> None:
    file = tmp_path / "recording.gz"
    write(file)
    state, owner = recorded_state(str(file), default_configuration(), {}), ThreadOwner()
    try:
        source = state_source(state, owner)
        hello, events, pods = (asyncio.run(each) for each in (source.hello(), source.run_events(0), source.pods()))
    finally:
        owner.close()
    assert (hello.source, hello.unit, hello.nodes, hello.pods, hello.pending) == ("recording.gz", "seconds", 2, 2, 0)
    assert events.kind == [wire.CREATED, wire.BOUND, wire.CREATED, wire.BOUND, wire.GONE]
    assert (events.start, events.nodes) == ([0, -2, -2], ["n1", "n2"])
    assert [events.node[number] for number in (1, 3)] == [1, 0]
    assert (pods.number, 0 < events.end < 100) == (3, True)


def test_a_scenario_and_its_page_have_one_clock(tmp_path: Path) -> None:
    file = tmp_path / "hours.yaml"
    file.write_text(SCENARIO.replace("seed: 1", "seed: 1\nstart: 2030-05-01T00:00:00Z"))
    state, owner = timeline_state(str(file), None, (), None), ThreadOwner()
    try:
        hello = asyncio.run(state_source(state, owner).hello())
    finally:
        owner.close()
    assert (hello.start, hello.time) == (1903824000.0, 7200.0)
