"""Creates the objects of workloads that arrive, with the work of their pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

from msgspec.structs import replace

from stowplan import api
from stowplan.simulator.api_server import StepOrder
from stowplan.simulator.clock import to_microseconds
from stowplan.simulator.controllers import Controllers
from stowplan.simulator.job_completion import JobCompletion
from stowplan.simulator.kubelet import Kubelet, PodLife, Work
from stowplan.simulator.scenario.arrivals import ArrivalTime
from stowplan.simulator.scenario.failures import PodFailures
from stowplan.simulator.scenario.object_names import FreeNames, arriving_name
from stowplan.simulator.scenario.workloads import CompiledWorkload, Json, as_gang
from stowplan.simulator.streams import RandomStreams
from stowplan.simulator.workloads.jobs import pods_at_once

_REFUSAL_SECONDS = 1.0
"""After which the user of a closed workload goes on if the API server refuses a pod."""
_PER_ARRIVAL = ("$n", "$at", "${n}", "${at}")


class ArrivalDriver:
    """The arrivals of one workload. Only the next arrival is scheduled, so memory does not depend on their number."""

    def __init__(
        self,
        workload: CompiledWorkload,
        streams: RandomStreams,
        kubelet: Kubelet,
        controllers: Controllers,
        jobs: JobCompletion,
        failures: PodFailures,
        start: float,
    ) -> None:
        self.workload = workload
        self.exhausted = workload.arrivals is None
        """Whether no object will arrive any more."""
        self.last = start
        """Time of the last arrival."""
        self.number = 0
        self._streams = streams
        self._kubelet = kubelet
        self._controllers = controllers
        self._jobs = jobs
        self._failures = failures
        self._start = start
        self._names = FreeNames(kubelet.api_server)
        self._bases: dict[tuple[int, str, str], Any] = {}
        self._users: dict[str, int] = {}
        """Users of a closed workload that wait for an object, by `Pod/namespace/name` or `Job/namespace/name`."""
        self._awaited: Counter[int] = Counter()
        """Objects that each of these users waits for."""
        self._fixed = [not any(mark in _body(document) for mark in _PER_ARRIVAL) for document in workload.documents]
        self._deadlines = [_deadline(document) for document in workload.documents]
        self._batch_stream, self._duration_stream, self._startup_stream = (
            streams.of(workload.path, kind) for kind in ("batch", "duration", "startup")
        )
        arrivals = workload.arrivals
        self._times: Iterator[ArrivalTime] = iter(()) if arrivals is None else arrivals.draw(streams, workload.path)

    def begin(self) -> None:
        """Schedule the first arrival."""
        arrivals = self.workload.arrivals
        if arrivals is not None and arrivals.closed is not None:
            for user in range(arrivals.closed.users):
                self._think(user, arrivals.begin)
        elif arrivals is not None:
            self._schedule()

    @property
    def is_closed(self) -> bool:
        """Whether the next arrival depends on the end of an earlier one."""
        return self.workload.arrivals is not None and self.workload.arrivals.closed is not None

    def ended(self, life: PodLife) -> None:
        """A pod of a closed workload, or of another one, has ended."""
        if self._users and life.pod.metadata.owner_references == ():
            self._user_done(f"Pod/{life.pod.metadata.namespace}/{life.pod.metadata.name}")

    def job_ended(self, job: api.Job) -> None:
        if self.workload.gang:
            group = self._kubelet.api_server.get(api.PodGroup, job.metadata.name, job.metadata.namespace)
            if group is not None:
                self._kubelet.api_server.delete(group)
        if self._users:
            self._user_done(f"Job/{job.metadata.namespace}/{job.metadata.name}")

    def _user_done(self, key: str) -> None:
        user = self._users.pop(key, None)
        if user is None:
            return
        self._awaited[user] -= 1
        if not self._awaited[user]:
            self._think(user, self._kubelet.api_server.clock() - self._start)

    def _think(self, user: int, since: float) -> None:
        arrivals = self.workload.arrivals
        assert arrivals is not None
        assert arrivals.closed is not None
        think = arrivals.closed.think.draw(self._streams.of(self.workload.path, f"think {user}"))
        if since + think >= arrivals.end or (arrivals.limit and self.number >= arrivals.limit):
            self.exhausted = not self._users
            return
        self._at(since + think, partial(self._arrive, ArrivalTime(since + think), user))

    def _schedule(self) -> None:
        for arrival in self._times:
            self._at(arrival.time, partial(self._arrive_next, arrival))
            return
        self.exhausted = True

    def _at(self, time: float, step: Any) -> None:
        self._kubelet.api_server.at(to_microseconds(self._start + time), step, StepOrder.ARRIVAL)

    def _arrive_next(self, arrival: ArrivalTime) -> None:
        self._arrive(arrival)
        self._schedule()

    def _arrive(self, arrival: ArrivalTime, user: int | None = None) -> None:
        arrivals = self.workload.arrivals
        assert arrivals is not None
        self.last = self._kubelet.api_server.clock()
        streams, path = self._streams, self.workload.path
        for _ in range(arrivals.batch.draw_count(self._batch_stream)):
            self.number += 1
            priority = self.workload.priority.draw(streams.of(path, "priority")) if self.workload.priority else ""
            tenant = self.workload.tenant.draw(streams.of(path, "tenant")) if self.workload.tenant else ""
            for index in range(len(self.workload.documents)):
                self._create(index, arrival, priority, tenant, user)

    def _create(self, index: int, arrival: ArrivalTime, priority: str, tenant: str, user: int | None) -> None:
        also = (api.PodGroup,) if self.workload.gang else ()
        item = self._names.named(self._item(index, arrival.time, priority, tenant), *also)
        metadata = item.metadata
        key = f"{metadata.namespace}/{metadata.name}"
        if isinstance(item, api.Pod):
            self._kubelet.register(f"Pod/{key}", [self._work(index, arrival, key)])
            self._note_user(user, f"Pod/{key}")
            if message := self._controllers.try_create_pod(item):
                self._kubelet.refused(item, message)
                if user is not None:  # Later, since the user also waits for other objects of this arrival.
                    self._at(arrival.time + _REFUSAL_SECONDS, partial(self._user_done, f"Pod/{key}"))
            return
        if isinstance(item, api.Job):
            count = max(item.spec.completions or 1, pods_at_once(item))
            works = [self._work(index, arrival, f"{key}/{number}") for number in range(count)]
            self._kubelet.register(f"Job/{key}", works)
            self._note_user(user, f"Job/{key}")
            limit = self.workload.documents[index].get("spec", {}).get("backoffLimit")
            if isinstance(limit, int):
                self._jobs.backoff_limits[key] = limit
            if self.workload.gang:
                group, item = as_gang(item, pods_at_once(item))
                self._kubelet.api_server.put(group)
        self._kubelet.api_server.put(item)

    def _note_user(self, user: int | None, key: str) -> None:
        if user is not None:
            self._users[key] = user
            self._awaited[user] += 1

    def _item(self, index: int, at: float, priority: str, tenant: str) -> Any:
        """The admitted object; made once for all arrivals that differ by name only."""
        document = self.workload.documents[index]
        if not self._fixed[index]:
            return self._admitted(self.workload.instance(document, self.number, at, priority, tenant))
        base = self._bases.get((index, priority, tenant))
        if base is None:
            named = {**document, "metadata": {**document["metadata"], "name": "base"}}
            base = self._admitted(self.workload.instance(named, 0, at, priority, tenant))
            self._bases[index, priority, tenant] = base
        name = arriving_name(document["metadata"].get("name", ""), self.workload.name, self.number, at)
        return replace(base, metadata=replace(base.metadata, name=name))

    def _admitted(self, item: Any) -> Any:
        return self._controllers.admission.admit(item)

    def _work(self, index: int, arrival: ArrivalTime, key: str) -> Work:
        workload, seconds = self.workload, arrival.duration
        if workload.duration is not None:
            seconds = workload.duration.draw(self._duration_stream)
        startup = workload.startup.draw(self._startup_stream)
        work = Work(seconds, startup, workload.restart, None, self._deadlines[index], workload.resubmit)
        return self._failures.apply(workload.name, key, work)


def _deadline(document: Json) -> float | None:
    spec = document.get("spec", {})
    if document["kind"] != "Pod":
        spec = spec.get("template", {}).get("spec", {})
    found = spec.get("activeDeadlineSeconds")
    return float(found) if isinstance(found, int) else None


def _body(document: Json) -> str:
    """The text of a document without its own name."""
    return str({**document, "metadata": {**document["metadata"], "name": ""}})
