"""Arrivals of a trace: pods with the requests, durations, priorities and tenants of its records."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from stowplan import api
from stowplan.config.errors import Problems
from stowplan.errors import InputError
from stowplan.simulator.api_server import StepOrder
from stowplan.simulator.clock import to_microseconds
from stowplan.simulator.controllers import Controllers
from stowplan.simulator.kubelet import TENANT, WORKLOAD, Kubelet, Work
from stowplan.simulator.scenario.object_names import FreeNames
from stowplan.simulator.scenario.workloads import CompiledWorkload
from stowplan.simulator.streams import RandomStreams
from stowplan.traces import Arrival, TraceLoader, TraceObjects, open_trace
from stowplan.traces.objects import MAX_SHARED_SPECS


def compile_trace(given: dict[str, Any], path: str, problems: Problems, folder: Path) -> TraceLoader | None:
    """The loader of a trace; faults are added to `problems`."""
    options = {key: value for key, value in given.items() if key not in ("loader", "path")}
    for key in ("loader", "path"):
        if not isinstance(given.get(key), str) or not given[key]:
            problems.required(f"{path}.{key}")
            return None
    try:
        return open_trace(given["loader"], folder / given["path"], options, folder=folder)
    except InputError as error:
        problems.add(path, str(error))
        return None


class TraceDriver:
    """The arrivals of one trace, read as time goes on."""

    def __init__(
        self,
        workload: CompiledWorkload,
        trace: TraceLoader,
        streams: RandomStreams,
        kubelet: Kubelet,
        controllers: Controllers,
        start: float,
    ) -> None:
        self.workload = workload
        self.exhausted = False
        self.last = start
        self.number = 0
        self._streams = streams
        self._kubelet = kubelet
        self._controllers = controllers
        self._start = start
        self._objects = TraceObjects()
        self._names = FreeNames(kubelet.api_server)
        self._specs: dict[int, tuple[api.PodSpec, api.PodSpec]] = {}
        """Admitted specs by the identity of the given one."""
        self._arrivals: Iterator[Arrival] = trace.selected()

    def begin(self) -> None:
        """Schedule the first arrival."""
        for arrival in self._arrivals:
            when = to_microseconds(self._start + max(0.0, arrival.time))
            self._kubelet.api_server.at(when, partial(self._arrive, arrival), StepOrder.ARRIVAL)
            return
        self.exhausted = True

    def job_ended(self, job: api.Job) -> None: ...

    def _arrive(self, arrival: Arrival) -> None:
        self.last = self._kubelet.api_server.clock()
        self.number += 1
        notes = {WORKLOAD: self.workload.name, **({TENANT: arrival.tenant} if arrival.tenant else {})}
        seconds = arrival.duration
        if self.workload.duration is not None:
            seconds = self.workload.duration.draw(self._streams.of(self.workload.path, "duration"))
        for pod in map(self._names.named, self._objects.pods(arrival)):
            metadata = replace(pod.metadata, annotations={**pod.metadata.annotations, **notes})
            startup = self.workload.startup.draw(self._streams.of(self.workload.path, "startup"))
            work = Work(seconds, startup, self.workload.restart, resubmit=self.workload.resubmit)
            self._kubelet.register(f"Pod/{metadata.namespace}/{metadata.name}", [work])
            spec = self._admitted(pod.spec)
            if spec.node_name and self._kubelet.api_server.get(api.Node, spec.node_name) is None:
                spec = replace(spec, node_name="")
            created = api.Pod(metadata=metadata, spec=spec, status=api.PodStatus(phase="Pending"))
            if message := self._controllers.try_create_pod(created):
                self._kubelet.refused(created, message)
        self.begin()

    def _admitted(self, spec: api.PodSpec) -> api.PodSpec:
        found = self._specs.get(id(spec))
        if found is None or found[0] is not spec:
            if len(self._specs) >= MAX_SHARED_SPECS:
                self._specs.clear()
            found = self._specs[id(spec)] = (spec, self._controllers.admission.admit_spec(spec))
        return found[1]
