"""Runs workloads with each scheduler in turn, on the same cluster."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import groupby
from statistics import fmean

from stowplan.bench.cluster.control_plane import BenchControlPlane
from stowplan.bench.cluster.report import ClusterReport
from stowplan.bench.cluster.run import Figures, median_of, run_scheduler
from stowplan.bench.cluster.workload import NAMES, OURS, PEERS, VISITED, ClusterWorkload, load_workload
from stowplan.bench.machine import calibrate, wait_until_quiet

Progress = Callable[[str], None]


class ClusterRunner:
    """Runs workloads, optionally with other numbers of nodes and pods."""

    def __init__(
        self,
        *,
        nodes: int | None = None,
        pods: int | None = None,
        peers: Collection[str] = PEERS,
        rounds: int = 1,
        seed: int = 0,
        progress: Progress = lambda message: None,
        calibrate: Callable[[], float] = calibrate,
        open_control_plane: Callable[..., AbstractContextManager[BenchControlPlane]] = BenchControlPlane.open,
        run_scheduler: Callable[[BenchControlPlane, ClusterWorkload, str, int], Figures] = run_scheduler,
        settle: Callable[[], object] = wait_until_quiet,
    ) -> None:
        self._nodes = nodes
        self._pods = pods
        self._peers = peers
        self._rounds = rounds
        self._seed = seed
        self._progress = progress
        self._calibrate = calibrate
        self._open_control_plane = open_control_plane
        self._run_scheduler = run_scheduler
        self._settle = settle

    def run(self, names: Iterable[str] = NAMES) -> Iterator[ClusterReport]:
        """A report for each workload, all with the same feature gates on one control plane."""
        chosen = set(names)
        workloads = [load_workload(name) for name in NAMES if name in chosen]
        for flags, group in groupby(workloads, key=lambda workload: workload.flags):
            yield from self._run_group(list(group), flags)

    def _run_group(self, workloads: Sequence[ClusterWorkload], flags: tuple[str, ...]) -> Iterator[ClusterReport]:
        last: ClusterWorkload | None = None
        more = (flags, workloads[0].runtime_config) if flags else ()
        self._progress("starting etcd and kube-apiserver")
        with self._open_control_plane(self._seed, *more) as control_plane:
            for workload in workloads:
                if last is not None:
                    control_plane.tear_down(last)
                yield self._report(control_plane, workload)
                last = workload

    def _report(self, control_plane: BenchControlPlane, workload: ClusterWorkload) -> ClusterReport:
        nodes = self._nodes or workload.nodes
        pods = self._pods or workload.pods
        if workload.most_per_node is not None:
            pods = min(pods, nodes * workload.most_per_node)
        self._progress(f"{workload.name}: setting up {nodes:,} nodes")
        control_plane.set_up(workload, nodes)
        before = self._calibrate()
        schedulers = [name for name in (*workload.peers, *VISITED, OURS) if name in self._peers or name == OURS]
        rounds = [
            {name: self._measure(control_plane, workload, name, pods) for name in schedulers}
            for _ in range(self._rounds)
        ]
        figures = {name: median_of([each[name] for each in rounds]) for name in schedulers}
        calibration = fmean((before, self._calibrate()))
        return ClusterReport(
            scenario=workload.name,
            nodes=nodes,
            pods=pods,
            rounds=self._rounds,
            calibration_s=calibration,
            figures=figures.pop(OURS),
            peers=figures,
            bars=workload.bars,
        )

    def _measure(self, control_plane: BenchControlPlane, workload: ClusterWorkload, name: str, pods: int) -> Figures:
        self._progress(f"{workload.name}: {name}: creating pods")
        control_plane.fill(workload, pods)
        self._settle()
        self._progress(f"{workload.name}: {name}: scheduling {pods:,} pods")
        figures = self._run_scheduler(control_plane, workload, name, pods)
        self._progress(
            f"{workload.name}: {name}: {figures.per_second:,.0f} pods/s, {figures.cpu_us_per_pod:,.0f} us CPU a pod"
        )
        control_plane.clear(workload, pods)
        return figures
