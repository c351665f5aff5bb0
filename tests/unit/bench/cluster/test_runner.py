from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest
from tests.unit.bench.cluster.samples import figures

from stowplan.bench.cluster import NAMES, ClusterRunner
from stowplan.bench.cluster.control_plane import BenchControlPlane
from stowplan.bench.cluster.run import Figures
from stowplan.bench.cluster.workload import ClusterWorkload


class FakeControlPlane:
    """Writes down what happens to it."""

    def __init__(self) -> None:
        self.log: list[str] = []

    @contextmanager
    def open(self, seed: int, *flags_and_apis: object) -> Iterator[BenchControlPlane]:
        self.log.append(f"open {seed}")
        yield cast(BenchControlPlane, self)
        self.log.append("close")

    def set_up(self, workload: ClusterWorkload, nodes: int) -> None:
        self.log.append(f"{workload.name}: {nodes} nodes")

    def fill(self, workload: ClusterWorkload, pods: int) -> None:
        self.log.append(f"fill {pods}")

    def settle(self) -> None:
        self.log.append("settle")

    def clear(self, workload: ClusterWorkload, pods: int) -> None:
        self.log.append(f"clear {pods}")

    def tear_down(self, workload: ClusterWorkload) -> None:
        self.log.append("tear down")

    def measurement(
        self, control_plane: BenchControlPlane, workload: ClusterWorkload, name: str, count: int
    ) -> Figures:
        self.log.append(f"{name} {count}")
        return figures(per_second=100.0 if name == "stowplan" else 50.0)


@pytest.fixture
def control_plane() -> FakeControlPlane:
    return FakeControlPlane()


def runner(control_plane: FakeControlPlane, **more: Any) -> ClusterRunner:
    return ClusterRunner(
        calibrate=lambda: 0.5,
        open_control_plane=control_plane.open,
        run_scheduler=control_plane.measurement,
        settle=control_plane.settle,
        **more,
    )


def test_schedulers_take_turns_on_a_cluster_that_is_made_anew(control_plane: FakeControlPlane) -> None:
    (report,) = runner(control_plane, nodes=20, pods=30, seed=4).run(["basic"])
    turns = [
        step
        for name in ("kube-scheduler", "ceiling", "stowplan")
        for step in ("fill 30", "settle", f"{name} 30", "clear 30")
    ]
    assert control_plane.log == ["open 4", "basic: 20 nodes", *turns, "close"]
    assert (report.scenario, report.nodes, report.pods, report.calibration_s) == ("basic", 20, 30, 0.5)
    assert report.figures.per_second == 100.0
    assert list(report.peers) == ["kube-scheduler", "ceiling"]


def test_in_every_round_each_scheduler_takes_its_turn(control_plane: FakeControlPlane) -> None:
    (report,) = runner(control_plane, nodes=20, pods=30, rounds=2).run(["basic"])
    turns = [step for step in control_plane.log if step.endswith(" 30") and step.split()[0] not in ("fill", "clear")]
    assert turns == ["kube-scheduler 30", "ceiling 30", "stowplan 30"] * 2
    assert (report.rounds, report.figures.per_second) == (2, 100.0)


def test_workloads_run_in_their_own_order_and_size(control_plane: FakeControlPlane) -> None:
    reports = list(runner(control_plane, peers=()).run(reversed(NAMES)))
    assert [report.scenario for report in reports] == list(NAMES)
    assert [(report.nodes, report.pods) for report in reports][-5:-2] == [(1000, 2000), (500, 2000), (5000, 1)]
    assert all(not report.peers for report in reports)
    assert control_plane.log.count("tear down") == len(NAMES) - 2  # Gangs have a control plane of their own.


def test_peers_can_be_chosen_among_those_of_the_workload(control_plane: FakeControlPlane) -> None:
    reports = list(runner(control_plane, peers=("ceiling",)).run(["spread", "preemption"]))
    assert [list(report.peers) for report in reports] == [["ceiling"], []]


def test_no_more_pods_than_fit(control_plane: FakeControlPlane) -> None:
    (report,) = runner(control_plane, nodes=20, pods=30).run(["antiaffinity"])
    assert report.pods == 20


def test_progress_is_told(control_plane: FakeControlPlane) -> None:
    told: list[str] = []
    list(runner(control_plane, nodes=20, pods=30, peers=(), progress=told.append).run(["basic"]))
    assert told == [
        "starting etcd and kube-apiserver",
        "basic: setting up 20 nodes",
        "basic: stowplan: creating pods",
        "basic: stowplan: scheduling 30 pods",
        "basic: stowplan: 100 pods/s, 300 us CPU a pod",
    ]
