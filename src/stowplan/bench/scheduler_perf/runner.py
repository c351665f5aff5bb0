"""Runs workloads of the suite with each scheduler in turn, each time on a control plane of its own."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from time import monotonic, process_time
from typing import Any, NamedTuple

import yaml

from stowplan.bench.cluster.bound_pod_watch import BoundPodWatch
from stowplan.bench.cluster.run import unschedulable_attempts
from stowplan.bench.cluster.schedulers import SCHEDULERS, BenchScheduler
from stowplan.bench.cluster.workload import KUBE_SCHEDULER, OURS
from stowplan.bench.machine import busy_seconds
from stowplan.bench.scheduler_perf.bound_pods import BoundPods
from stowplan.bench.scheduler_perf.executor import WorkloadRun
from stowplan.bench.scheduler_perf.report import PerfReport, PerfTurn
from stowplan.bench.scheduler_perf.suite import PerfWorkload
from stowplan.cluster.kubeconfig import load_connection
from stowplan.testing import ADMIN, ControlPlane, KubeApi, NotInTimeError, Process, cpu_seconds, rss_mib
from stowplan.testing.binaries import find
from stowplan.testing.kube_scheduler import parse_samples

CONTROLLER_MANAGER = "kube-controller-manager"
_CONTROLLERS = "resourceclaim-controller,garbage-collector-controller"
_ADMISSION_OFF = "--disable-admission-plugins=Priority"
"""Pods of the suite have `spec.priority` without a PriorityClass."""

_RESOURCE_VERSIONS = (
    "resource.k8s.io/v1",
    "resource.k8s.io/v1beta2",
    "resource.k8s.io/v1beta1",
    "resource.k8s.io/v1alpha3",
)
_REQUEST_TIMEOUT_SECONDS = 600.0
_METADATA = "/api/v1/pods"

Progress = Callable[[str], None]


class _Reading(NamedTuple):
    """A point in time with CPU seconds so far, of the scheduler and of processes that take no part."""

    at: float
    cpu: float
    others: float


class PerfRunner:
    """Runs workloads with both schedulers, or with one of them."""

    def __init__(
        self, *, schedulers: Collection[str] = (KUBE_SCHEDULER, OURS), progress: Progress = lambda message: None
    ) -> None:
        self._schedulers = schedulers
        self._progress = progress

    def run(self, workloads: Iterable[PerfWorkload]) -> Iterator[PerfReport]:
        """A report for each workload."""
        for workload in workloads:
            obstacle = workload.obstacle
            if not obstacle and workload.has_claims and find(CONTROLLER_MANAGER) is None:
                obstacle = f"needs {CONTROLLER_MANAGER}: python -m stowplan.testing build {CONTROLLER_MANAGER}"
            if obstacle:
                yield PerfReport(scenario=workload.name, obstacle=obstacle)
                continue
            load = os.getloadavg()[0]
            turns = {name: self._turn(workload, name) for name in self._schedulers}
            yield PerfReport(scenario=workload.name, threshold=workload.threshold, load=load, turns=turns)

    def _turn(self, workload: PerfWorkload, name: str) -> PerfTurn:
        self._progress(f"{workload.name}: {name}")
        with ExitStack() as stack:
            plane = stack.enter_context(_control_plane(workload))
            api = stack.enter_context(plane.client(timeout=_REQUEST_TIMEOUT_SECONDS))
            processes = list(plane.processes)
            if workload.has_claims:
                processes.append(stack.enter_context(_controller_manager(plane)))
            scheduler = stack.enter_context(SCHEDULERS[name](plane, _configuration(workload), _gate_flags(workload)))
            with plane.client(ADMIN, server=scheduler.url) as pages:
                scheduler.process.wait_ready(pages.healthy)
                turn = _measure(workload, plane, api, scheduler, processes, pages)
        rate = "-" if turn.throughput is None else f"{turn.throughput:,.0f}"
        self._progress(f"{workload.name}: {name}: {rate} pods/s, {turn.cpu_us_per_pod:,.0f} us CPU a pod")
        return turn


def _measure(
    workload: PerfWorkload,
    plane: ControlPlane,
    api: KubeApi,
    scheduler: BenchScheduler,
    processes: list[Process],
    pages: KubeApi,
) -> PerfTurn:
    """Run the operations, with readings where measurements start and end."""
    readings: list[_Reading] = []
    pid = scheduler.process.pid

    def read() -> _Reading:
        own, part = cpu_seconds(pid), sum(cpu_seconds(process.pid) for process in processes)
        return _Reading(monotonic(), own, busy_seconds() - own - part - process_time())

    bound = BoundPods()
    version: str = api.request("GET", _METADATA, params={"limit": 1})["metadata"]["resourceVersion"]
    watch = BoundPodWatch(_METADATA, version, 1 << 62, read, bound)
    watch.open(plane.url, plane.tls(), ADMIN.token)
    connection = load_connection(str(plane.kubeconfig(ADMIN)))
    executor = WorkloadRun(workload, api, connection, bound, lambda starts: readings.append(read()))
    problem = ""
    try:
        executor.run()
    except NotInTimeError as error:
        problem = str(error)
        readings.append(read())
    finally:
        executor.close()
        watch.close()
    if watch.problem:
        problem = problem or f"watch of bound pods: {watch.problem}"
    samples = parse_samples(str(pages.request("GET", "/metrics")["message"]))
    return _turn_of(executor, readings, rss_mib(pid), unschedulable_attempts(samples), problem)


def _turn_of(executor: WorkloadRun, readings: list[_Reading], rss: float, unschedulable: int, problem: str) -> PerfTurn:
    pairs = list(zip(readings[::2], readings[1::2], strict=False))
    pods = sum(collector.pods for collector in executor.collectors)
    seconds = sum(end.at - start.at for start, end in pairs)
    values = [value for collector in executor.collectors for value in collector.samples.values]
    others = sum(end.others - start.others for start, end in pairs)
    return PerfTurn(
        throughput=sum(values) / len(values) if values else None,
        per_second=pods / max(seconds, 1e-9),
        pods=pods,
        seconds=seconds,
        cpu_us_per_pod=sum(end.cpu - start.cpu for start, end in pairs) / max(pods, 1) * 1e6,
        rss_mib=rss,
        others_cpu_share=max(others, 0.0) / max(seconds, 1e-9) / (os.cpu_count() or 1),
        unschedulable_attempts=unschedulable,
        problem=problem,
    )


def _control_plane(workload: PerfWorkload) -> ControlPlane:
    versions = dict.fromkeys(_RESOURCE_VERSIONS, True) if workload.has_claims else {}
    flags = (_ADMISSION_OFF, "--delete-collection-workers=16", *_gate_flags(workload))
    return ControlPlane(throughput=True, runtime_config=versions, flags=flags)


def _gate_flags(workload: PerfWorkload) -> tuple[str, ...]:
    gates = ",".join(f"{name}={str(value).lower()}" for name, value in workload.changed_gates.items())
    return (f"--feature-gates={gates}",) if gates else ()


def _configuration(workload: PerfWorkload) -> dict[str, Any]:
    if workload.scheduler_config is None:
        return {}
    loaded: dict[str, Any] = yaml.safe_load(workload.path(workload.scheduler_config).read_text("utf-8"))
    return loaded


def _controller_manager(plane: ControlPlane) -> Process:
    """The controllers that create claims from templates and delete those of deleted pods."""
    binary = find(CONTROLLER_MANAGER)
    folder = Path(tempfile.mkdtemp(dir=plane.folder, prefix="kube-controller-manager-"))
    flags = {
        "--kubeconfig": plane.kubeconfig(ADMIN),
        "--controllers": _CONTROLLERS,
        "--leader-elect": "false",
        "--secure-port": 0,
        "--kube-api-qps": 5000,
        "--kube-api-burst": 5000,
    }
    command = [str(binary), *(f"{flag}={value}" for flag, value in flags.items())]
    return Process(CONTROLLER_MANAGER, command, folder / "kube-controller-manager.log")
