"""Recordings of clusters as traces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.unit.simulator.scenario.scenarios import document
from tests.unit.simulator.simulated_cluster import node, pod

from stowplan import api
from stowplan.errors import InputError
from stowplan.simulator.scenario import compile_scenario
from stowplan.study import RunResult, RunSettings, run
from stowplan.traces import TraceLoader, open_trace
from stowplan.traces.cluster_recording import RecordingWriter

TRACE = {"loader": "recording", "path": "day.rec.gz"}


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Day:
    """A recording of two nodes. `old` runs at the start; `phase` of a change is the pod's."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "day.rec.gz"
        self.clock = Clock()
        self.writer = RecordingWriter(self.file, "test", self.clock, 2**20)
        for name in ("n1.example", "n2.example"):
            self.writer.put(api.KINDS["Node"], [node(name)])

    def pod(self, at: float, name: str, on: str = "", *, phase: str = "Pending", uid: str = "", **spec: Any) -> None:
        self.clock.now = 1000.0 + at
        made: Any = pod(name, on, uid=uid or name, namespace="shop", requests={"cpu": "1"})
        self.writer.put(
            api.KINDS["Pod"],
            [replace(made, status=replace(made.status, phase=phase), spec=replace(made.spec, **spec))],
        )

    def removed(self, at: float, name: str, uid: str = "") -> None:
        self.clock.now = 1000.0 + at
        self.writer.removed(api.KINDS["Pod"], [pod(name, uid=uid or name, namespace="shop")])


def recorded(folder: Path) -> Day:
    day = Day(folder)
    day.pod(0, "old", "n2.example")
    day.pod(0, "done", "n2.example", phase="Succeeded")
    day.writer.listed()
    day.pod(10, "job", priority=7, volumes=(api.Volume(name="v"),))
    day.pod(12, "job", "n1.example")
    day.pod(20, "gone")
    day.removed(25, "gone")
    day.pod(30, "old", "n2.example", phase="Failed")
    day.pod(52, "job", "n1.example", phase="Succeeded")
    day.removed(60, "job")
    day.pod(70, "job", uid="second")
    day.clock.now = 1080.0
    day.writer.put(api.KINDS["Node"], [node("n3")])
    return day


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    recorded(tmp_path).writer.close()
    return tmp_path


def opened(folder: Path, **options: Any) -> TraceLoader:
    return open_trace("recording", folder, options)


def test_pods_arrive_with_their_times_and_durations(folder: Path) -> None:
    trace = opened(folder)
    found = [(each.key, each.time, each.duration, each.waited, each.outcome) for each in trace.selected()]
    assert found == [
        ("shop/old", 0.0, 30.0, 0.0, "failed"),
        ("shop/job", 10.0, 40.0, 2.0, "succeeded"),
        ("shop/job-2", 70.0, None, None, "pending"),
    ]
    assert trace.dropped == {"ended before the recording": 1, "deleted before it had a node": 1}
    old, job, again = (arrival.pod for arrival in trace.selected())
    assert old is not None
    assert job is not None
    assert again is not None
    assert (old.spec.node_name, job.spec.node_name, again.metadata.name) == ("n2.example", "", "job-2")
    assert (job.spec.priority, job.spec.volumes) == (7, ())
    assert [(each.name, each.time) for each in trace.nodes()] == [("n1.example", 0), ("n2.example", 0), ("n3", 80)]


@pytest.mark.parametrize(
    ("options", "keys"),
    [
        ({"running": "none"}, ["shop/job", "shop/job-2"]),
        ({"running": "anew", "limit": 1}, ["shop/old"]),
        ({"from": 5, "to": 60}, ["shop/job"]),
    ],
)
def test_a_part_can_be_selected(folder: Path, options: dict[str, Any], keys: list[str]) -> None:
    assert [each.key for each in opened(folder, **options).selected()] == keys


def test_pods_of_daemon_sets_can_be_left_out(tmp_path: Path) -> None:
    day = Day(tmp_path)
    owner = api.OwnerReference(kind="DaemonSet", name="agent", uid="d", controller=True)
    made: Any = pod("agent-x", "n1.example", uid="a", namespace="shop")
    made = replace(made, metadata=replace(made.metadata, owner_references=(owner,)))
    day.writer.put(api.KINDS["Pod"], [made])
    day.writer.listed()
    day.writer.close()
    assert [each.job for each in opened(tmp_path).selected()] == ["d"]
    assert list(opened(tmp_path, daemonSets=False).selected()) == []


def ran(folder: Path, trace: dict[str, Any], **fields: Any) -> RunResult:
    given = document({"name": "day", "trace": trace}, until={"time": "2m"}, **fields)
    return run(compile_scenario(given, "scenario.yaml", folder), 0, RunSettings())


def test_a_scenario_runs_a_recorded_day(folder: Path) -> None:
    """`old` stays on its node, which is the fuller one."""
    result = ran(folder, TRACE, nodes={"trace": TRACE})
    rows = {name: number for number, name in enumerate(result.pods["pod"].tolist())}
    nodes, ended = result.pods["node"].tolist(), result.pods["ended"].tolist()
    assert set(rows) == {"shop/old", "shop/job", "shop/job-2"}
    assert (nodes[rows["shop/old"]], ended[rows["shop/old"]]) == ("n2.example", 30.0)
    assert (nodes[rows["shop/job"]], ended[rows["shop/job"]]) == ("n1.example", 50.0)
    assert "n3" in result.nodes["node"].tolist()


def test_pods_whose_node_is_missing_are_placed_anew(folder: Path) -> None:
    pool = {"name": "other", "count": 1, "template": {"status": {"allocatable": {"cpu": "8", "pods": "110"}}}}
    result = ran(folder, TRACE, nodes={"pools": [pool]})
    assert result.pods["node"].tolist() == ["other-1"] * 3


def test_an_incomplete_recording_is_refused_unless_allowed(folder: Path) -> None:
    file = folder / "day.rec.gz"
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"day.rec.gz: the recording is not complete; with incomplete: true"):
        list(opened(folder).selected())
    assert next(opened(folder, incomplete=True).selected()).key == "shop/old"


def test_another_file_and_an_empty_folder_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no file \*.rec.gz"):
        list(opened(tmp_path).selected())
    (tmp_path / "x.rec.gz").write_text("apiVersion: v1")
    with pytest.raises(InputError, match=r"x.rec.gz: not a recording of a cluster"):
        list(opened(tmp_path).selected())
