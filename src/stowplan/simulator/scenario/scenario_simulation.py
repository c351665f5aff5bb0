"""The simulation of a scenario: a cluster, kubelets, arrivals and failures in virtual time, up to a horizon."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from msgspec.structs import replace

from stowplan import api
from stowplan.config import KubeSchedulerConfiguration
from stowplan.engine import Observer
from stowplan.errors import InputError
from stowplan.runtime import Registry
from stowplan.simulator.api_server import StepOrder
from stowplan.simulator.clock import to_microseconds
from stowplan.simulator.descheduler import Descheduler
from stowplan.simulator.group_gates import with_group_gates
from stowplan.simulator.input import InputOptions, read_input
from stowplan.simulator.job_completion import JobCompletion
from stowplan.simulator.kubelet import Kubelet, LifeObserver, PodLife
from stowplan.simulator.load import populate
from stowplan.simulator.node_lifecycle import NodeLifecycle
from stowplan.simulator.scaling import set_replicas
from stowplan.simulator.scenario.arrival_driver import ArrivalDriver
from stowplan.simulator.scenario.autoscaling import start_autoscaler
from stowplan.simulator.scenario.churn import ChurnDriver
from stowplan.simulator.scenario.descheduling import start_descheduler
from stowplan.simulator.scenario.failures import FailureDriver, PodFailures, request_faults
from stowplan.simulator.scenario.object_names import FreeNames
from stowplan.simulator.scenario.priority_classes import check_priority_classes
from stowplan.simulator.scenario.quantities import seconds_of
from stowplan.simulator.scenario.reading import LoadedScenario, ReadFile, read_file
from stowplan.simulator.scenario.trace_driver import TraceDriver
from stowplan.simulator.scenario.workloads import FINITE, CompiledWorkload
from stowplan.simulator.simulation import Simulation
from stowplan.simulator.streams import RandomStreams
from stowplan.traces import TraceLoader, TraceObjects

_MAX_KEPT_EVENTS = 1000
_SEED_BITS = 53


class ScenarioSimulation:
    """A run of a scenario. Times are seconds since its start; equal scenarios and seeds give equal runs."""

    def __init__(
        self,
        scenario: LoadedScenario,
        seed: int,
        config: KubeSchedulerConfiguration,
        registry: Registry,
        *,
        observer: Observer | None = None,
        lives: LifeObserver | None = None,
        read: ReadFile = read_file,
    ) -> None:
        self.scenario = scenario
        self.streams = RandomStreams(seed)
        ties = int(self.streams.keyed("scheduler", "ties", "") * 2**_SEED_BITS)
        if any(workload.gang for workload in scenario.workloads):
            config = with_group_gates(config, [api.PodGroup()])
        self.simulation = Simulation(
            config,
            registry,
            seed=ties,
            observer=observer,
            faults=request_faults(scenario.spec.failures, self.streams),
            grace=seconds_of(scenario.spec.grace),
            start=scenario.start,
            max_kept_events=_MAX_KEPT_EVENTS,
        )
        self.api_server = self.simulation.api_server
        for profile in self.simulation.engine.profiles.values():
            profile.ties.by_name = scenario.spec.ties == "name"
        ttl = seconds_of(scenario.spec.ttl)
        self._lives = lives or LifeObserver()
        self.kubelet = Kubelet(
            self.api_server, self._lives, jitter=partial(self.streams.keyed, "kubelet", "jitter"), ttl=ttl
        )
        self.jobs = JobCompletion(self.api_server, self.kubelet, ttl)
        self._pod_failures = PodFailures(scenario.spec.failures, self.streams)
        self.drivers = [
            self._driver(workload, trace) for workload, trace in zip(scenario.workloads, scenario.traces, strict=True)
        ]
        self._closed = [driver for driver in self.drivers if isinstance(driver, ArrivalDriver) and driver.is_closed]
        self.node_lifecycle = NodeLifecycle(self.kubelet, self.simulation.settle, self._lives.node_event)
        self._churn = [
            ChurnDriver(churn, self.streams, self.kubelet, scenario.start, scenario.source) for churn in scenario.churn
        ]
        self.kubelet.on_end = self._pod_ended
        self.kubelet.on_running = self._pod_running
        self.jobs.on_job_end = self._job_ended
        self._end_is_scheduled = False
        self._cycle = seconds_of(scenario.spec.cycle)
        self._apply_manifests(read)
        check_priority_classes(scenario, self.simulation.controllers.admission)
        self._add_nodes()
        for workload, driver in zip(scenario.workloads, self.drivers, strict=True):
            self._begin(workload, driver)
        for churn in self._churn:
            churn.begin()
        for failure in scenario.failures:
            FailureDriver(failure, self.streams, self.api_server, self.node_lifecycle, scenario.start).begin()
        if scenario.autoscaler is not None:
            pools = {pool.name: pool for pool in scenario.pools}
            start_autoscaler(
                scenario.autoscaler, pools, self.simulation, self.node_lifecycle, self.streams, self._lives
            )
        if scenario.descheduler is not None:
            settings = scenario.descheduler.settings
            descheduler = Descheduler(self.simulation, self.kubelet, self.node_lifecycle, settings)
            start_descheduler(scenario.descheduler, descheduler, self.api_server, scenario.start)

    def _driver(self, workload: CompiledWorkload, trace: TraceLoader | None) -> ArrivalDriver | TraceDriver:
        controllers, start = self.simulation.controllers, self.scenario.start
        if trace is not None:
            return TraceDriver(workload, trace, self.streams, self.kubelet, controllers, start)
        return ArrivalDriver(workload, self.streams, self.kubelet, controllers, self.jobs, self._pod_failures, start)

    @property
    def now(self) -> float:
        """Seconds since the start."""
        return self.simulation.clock.now - self.scenario.start

    def run_until(self, time: float) -> None:
        """Run up to a time or the horizon, whichever comes first."""
        until = self.scenario.start + min(time, self.scenario.horizon.time)
        if not self._cycle:
            self.simulation.run_until(until, self._is_over)
            return
        simulation = self.simulation
        simulation.settle()
        while not self._is_over():
            if simulation.step():
                self._pass_time(min(until, simulation.clock.now + self._cycle))
            elif not simulation.advance(until):
                if until < math.inf:
                    simulation.pass_time(until)
                return

    def _pass_time(self, until: float) -> None:
        """Run everything but scheduling cycles up to a time."""
        while self.simulation.advance(until):
            pass
        self.simulation.pass_time(until)

    @property
    def finished(self) -> bool:
        """Whether the horizon is reached."""
        return self.now >= self.scenario.horizon.time or self._is_over()

    def _is_over(self) -> bool:
        horizon = self.scenario.horizon
        if horizon.after_arrivals is None and not horizon.drained and not horizon.stuck:
            return False
        if not all(driver.exhausted for driver in self.drivers):
            return False
        if horizon.drained and not self.kubelet.lives:
            return True
        if (horizon.drained or horizon.stuck) and self._is_stuck():
            return True
        return horizon.after_arrivals is not None and self._is_after_arrivals(horizon.after_arrivals)

    def _is_stuck(self) -> bool:
        """Whether nothing is due but retries of pods that fit nowhere."""
        engine = self.simulation.engine
        if self.api_server.next_deadline() is not None or engine.waits_for_time:
            return False
        counts = engine.queue_counts()
        return not counts["active"] and not counts["backoff"]

    def _is_after_arrivals(self, seconds: float) -> bool:
        end = max((driver.last for driver in self.drivers), default=self.scenario.start) + seconds
        if not self._end_is_scheduled:
            self._end_is_scheduled = True
            self.api_server.at(to_microseconds(end), _nothing)
        return self.simulation.clock.now >= to_microseconds(end)

    def _pod_ended(self, life: PodLife) -> None:
        self.jobs.pod_ended(life)
        for driver in self._closed:
            driver.ended(life)
        for churn in self._churn:
            churn.pod_changed()

    def _pod_running(self, life: PodLife) -> None:
        for churn in self._churn:
            churn.pod_changed()

    def _job_ended(self, job: api.Job, outcome: str) -> None:
        self._lives.job_ended(f"{job.metadata.namespace}/{job.metadata.name}", outcome)
        for driver in self.drivers:
            driver.job_ended(job)

    def _apply_manifests(self, read: ReadFile) -> None:
        scenario, simulation = self.scenario, self.simulation
        names = [str(scenario.folder / name) for name in scenario.spec.manifests]
        if names:
            given = read_input(names, read, options=InputOptions(fragment=True))
            populate(self.api_server, simulation.controllers, given.objects, given.preexisting, given.assumed_owners)
        for workload in scenario.workloads:
            for item in workload.companions:
                self.api_server.put(simulation.controllers.admission.admit(item))

    def _add_nodes(self) -> None:
        admission = self.simulation.controllers.admission
        for pool in self.scenario.pools:
            zones: dict[str, int] = {}
            for number in range(1, pool.count + 1):
                zone = pool.zone_for(zones)
                zones[zone] = zones.get(zone, 0) + 1
                self.api_server.put(admission.admit(pool.node(number, zone)))
        if self.scenario.node_trace is not None:
            self._add_trace_nodes(self.scenario.node_trace)

    def _add_trace_nodes(self, trace: TraceLoader) -> None:
        objects, admission = TraceObjects(), self.simulation.controllers.admission
        owners = {node.metadata.name: "" for node in self.api_server.all(api.Node)}
        for node in trace.checked_nodes():
            item = admission.admit(objects.node(node))
            name = item.metadata.name
            if owners.setdefault(name, node.name) != node.name:
                other = owners[name] or "a pool or a manifest"
                raise InputError(f"{trace.source}: node {node.name}: {other} has a node named {name} too")
            step = partial(self._put, item)
            if node.time > 0:
                self._at(node.time, step, StepOrder.NODE)
            else:
                step()

    def _begin(self, workload: CompiledWorkload, driver: ArrivalDriver | TraceDriver) -> None:
        if workload.arrivals is not None or isinstance(driver, TraceDriver):
            driver.begin()
            return
        for document in workload.documents:
            item = self._admitted(workload.instance(document, 1, 0.0, "", ""))
            if not document["metadata"].get("name"):
                item = FreeNames(self.api_server).named(item)
            self._check_free(workload, item)
            if workload.replicas is not None:
                item = replace(item, spec=replace(item.spec, replicas=workload.replicas.first))
            stored = self.api_server.put(item) if not isinstance(item, api.Pod) else None
            if stored is None:
                self.simulation.controllers.create_pod(item)
            elif workload.replicas is not None:
                for time, count in workload.replicas.steps:
                    if time > 0:
                        self._at(time, partial(self._scale, stored, count))

    def _check_free(self, workload: CompiledWorkload, item: Any) -> None:
        """A Pod or Job must not replace one of the manifests; other objects are updates of those."""
        kind, metadata = type(item), item.metadata
        if kind in FINITE and self.api_server.get(kind, metadata.name, metadata.namespace) is not None:
            index = self.scenario.workloads.index(workload)
            text = f"{kind.__name__} {metadata.namespace}/{metadata.name}: an object of this name already exists"
            raise InputError(f"{self.scenario.source}: $.workloads[{index}]: {text}")

    def _admitted(self, item: Any) -> Any:
        return self.simulation.controllers.admission.admit(item)

    def _put(self, item: Any) -> None:
        self.api_server.put(item)

    def _at(self, time: float, step: Any, order: StepOrder = StepOrder.ARRIVAL) -> None:
        self.api_server.at(to_microseconds(self.scenario.start + time), step, order)

    def _scale(self, owner: Any, count: int) -> None:
        set_replicas(self.kubelet, owner, count)


def _nothing() -> None:
    """A step that only makes the clock stop at its time."""
