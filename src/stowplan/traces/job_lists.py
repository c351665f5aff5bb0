"""Job lists of GPU clusters (Philly, Helios) and of parallel machines (SWF)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from math import isfinite
from typing import Annotated, Any

from msgspec import Meta

from stowplan.errors import InputError
from stowplan.traces.loader import TraceLoader
from stowplan.traces.records import GIB, GPU, MAX_TRACE_NODES, Arrival, TraceNode
from stowplan.traces.rows import Row, amount, find_file, read_lines, read_rows, read_text
from stowplan.traces.selection import TraceSelection

_PHILLY_TIME = "%Y-%m-%d %H:%M:%S"
_SWF_FIELDS = 18
_MAX_DIGITS = 18
_SWF_STATUS = {0: "failed", 1: "succeeded", 5: "killed"}


class GpuJobOptions(TraceSelection, kw_only=True, frozen=True):
    """Amounts that the trace does not have."""

    cpu_per_gpu: Annotated[float, Meta(gt=0)] = 6.0
    memory_gib_per_gpu: Annotated[float, Meta(gt=0)] = 60.0


class Philly(TraceLoader):
    """Loads cluster_job_log (JSON) and cluster_machine_list (CSV). A job's pods are its machines."""

    name = "philly"
    origin = "github.com/msr-fiddle/philly-traces (CC-BY-4.0)"
    Options = GpuJobOptions
    options: GpuJobOptions

    def nodes(self) -> Iterator[TraceNode]:
        path = find_file(self.source, "cluster_machine_list", "cluster_machine_list.csv")
        for row in read_rows(path, ("machineId", "number of GPUs")):
            gpus = row.amount("number of GPUs")
            yield TraceNode(row.text("machineId"), {**_per_gpu(self.options, gpus), GPU: gpus})

    def arrivals(self) -> Iterator[Arrival]:
        path = find_file(self.source, "cluster_job_log", "cluster_job_log.json")
        try:
            jobs = json.loads(read_text(path))
        except (ValueError, RecursionError) as problem:
            raise InputError(f"{path}: {problem}") from None
        if not isinstance(jobs, list) or not all(isinstance(job, dict) for job in jobs):
            raise InputError(f"{path}: expected a list of jobs")
        found = []
        for number, job in enumerate(jobs):
            missing = [name for name in ("jobid", "submitted_time", "attempts") if name not in job]
            if missing:
                raise InputError(f"{path}: job {number}: missing fields: {', '.join(missing)}")
            arrival = self._arrival(f"{path}: job {job['jobid']}", job)
            if arrival is not None:
                found.append(arrival)
        yield from _from_zero(found)

    def _arrival(self, where: str, job: dict[str, Any]) -> Arrival | None:
        attempts = _objects(where, job, "attempts")
        ran = [
            a for a in attempts if a.get("start_time") not in (None, "None") and a.get("end_time") not in (None, "None")
        ]
        machines = _objects(where, ran[0], "detail") if ran else []
        gpus = sum(len(gpus) for machine in machines if isinstance(gpus := machine.get("gpus"), list))
        if not ran or not gpus:
            self.dropped["never ran" if not ran else "without GPUs"] += 1
            return None
        durations = [_seconds(where, a["end_time"]) - _seconds(where, a["start_time"]) for a in ran]
        if min(durations) < 0:
            raise InputError(f"{where}: negative duration of an attempt, {min(durations):g} s")
        submitted, pods = _seconds(where, job["submitted_time"]), len(machines)
        each = -(-gpus // pods)
        return Arrival(
            submitted,
            str(job["jobid"]),
            str(job["jobid"]),
            {**_per_gpu(self.options, each), GPU: each},
            sum(durations),
            gang=pods,
            tenant=str(job.get("vc") or ""),
            outcome={"Pass": "succeeded", "Killed": "killed"}.get(str(job.get("status")), "failed"),
            waited=max(_seconds(where, ran[0]["start_time"]) - submitted, 0.0),
        )


class Helios(TraceLoader):
    """Loads cluster_log.csv. A job's pods are its nodes."""

    name = "helios"
    origin = "github.com/S-Lab-System-Group/HeliosData (CC-BY-4.0)"
    Options = GpuJobOptions
    options: GpuJobOptions

    def arrivals(self) -> Iterator[Arrival]:
        path = find_file(self.source, "cluster_log.csv")
        columns = ("job_id", "user", "vc", "gpu_num", "cpu_num", "node_num", "state", "submit_time", "duration")
        yield from _from_zero([arrival for row in read_rows(path, columns) if (arrival := self._arrival(row))])

    def _arrival(self, row: Row) -> Arrival | None:
        gpus, pods = row.amount("gpu_num"), max(row.amount("node_num"), 1)
        duration = row.number("duration")
        if duration < 0:
            raise row.error(f"negative duration: {duration:g}")
        where = row.where
        each = -(-gpus // pods)
        requests = {
            "cpu": row.amount("cpu_num", 1000) // pods,
            "memory": _per_gpu(self.options, max(each, 1))["memory"],
        }
        outcome = {"COMPLETED": "succeeded", "CANCELLED": "killed"}.get(row.text("state"), "failed")
        submitted = _seconds(where, row.text("submit_time"))
        started = row.text("start_time")
        return Arrival(
            submitted,
            row.text("job_id"),
            row.text("job_id"),
            {**requests, GPU: each} if each else requests,
            duration,
            gang=pods,
            tenant=row.text("vc"),
            outcome=outcome,
            waited=_seconds(where, started) - submitted if started not in ("", "None") else None,
        )


class SwfOptions(TraceSelection, kw_only=True, frozen=True):
    """How processors become pods."""

    cores_per_node: Annotated[int, Meta(ge=1)] = 32
    """Cores of a node; a job's pods have at most so many."""
    memory_gib_per_core: Annotated[float, Meta(gt=0)] = 2.0
    """Where the trace has no memory, and of the nodes."""


class Swf(TraceLoader):
    """Loads the Standard Workload Format: 18 numbers a line, -1 for unknown ones, comments after ;."""

    name = "swf"
    origin = "www.cs.huji.ac.il/labs/parallel/workload/swf.html"
    Options = SwfOptions
    options: SwfOptions

    def nodes(self) -> Iterator[TraceNode]:
        cores, size = 0, self.options.cores_per_node
        for line in self._lines():
            if line[1].startswith(";"):
                name, _, value = line[1].lstrip("; ").partition(":")
                if name.strip() == "MaxProcs" and value.strip().isdecimal():
                    cores = int(value.strip()[:_MAX_DIGITS])
        if cores > MAX_TRACE_NODES * size:
            raise InputError(f"{self._path()}: MaxProcs is too large: {cores}")
        memory = round(size * self.options.memory_gib_per_core * GIB)
        for number in range(-(-cores // size)):
            yield TraceNode(f"node-{number}", {"cpu": size * 1000, "memory": memory})

    def arrivals(self) -> Iterator[Arrival]:
        latest = 0.0
        for number, line in self._lines():
            if line.startswith(";") or not line:
                continue
            where = f"{self._path()}:{number}"
            try:
                values = [float(text) for text in line.split()]
            except ValueError:
                raise InputError(f"{where}: expected {_SWF_FIELDS} numbers") from None
            if not all(map(isfinite, values)):
                raise InputError(f"{where}: a number is not finite")
            if len(values) != _SWF_FIELDS:
                raise InputError(f"{where}: {len(values)} numbers instead of {_SWF_FIELDS}")
            job, submitted, waited, duration, used = values[:5]
            cores = int(values[7] if values[7] > 0 else used)
            if submitted < latest:
                raise InputError(f"{where}: times run backwards, {submitted:g} after {latest:g}")
            latest = submitted
            if duration < 0 and duration != -1:
                raise InputError(f"{where}: negative duration: {duration:g}")
            if duration < 0 or cores < 1:
                self.dropped["without duration" if duration < 0 else "without processors"] += 1
                continue
            pods = -(-cores // self.options.cores_per_node)
            each = -(-cores // pods)
            known_memory = values[9] > 0  # Kilobytes per processor
            memory = values[9] * 1024 if known_memory else self.options.memory_gib_per_core * GIB
            yield Arrival(
                submitted,
                f"job-{int(job)}",
                f"job-{int(job)}",
                {"cpu": each * 1000, "memory": amount(where, "memory", memory, each)},
                duration,
                gang=pods,
                tenant=f"user-{int(values[11])}" if values[11] >= 0 else "",
                outcome=_SWF_STATUS.get(int(values[10]), ""),
                waited=waited if waited >= 0 else None,
            )

    def _path(self) -> Any:
        return find_file(self.source, *sorted(path.name for path in self.source.glob("*.swf*")) or ["*.swf"])

    def _lines(self) -> Iterator[tuple[int, str]]:
        yield from read_lines(self._path())


def _objects(where: str, item: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found = item.get(name) or []
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise InputError(f"{where}: {name} is not a list of objects")
    return found


def _per_gpu(options: GpuJobOptions, gpus: int) -> dict[str, int]:
    return {"cpu": round(gpus * options.cpu_per_gpu * 1000), "memory": round(gpus * options.memory_gib_per_gpu * GIB)}


def _seconds(where: str, text: object) -> float:
    """A local time of day, taken as UTC: differences are right but for hours of changes of the clock."""
    try:
        return datetime.strptime(f"{text} +0000", f"{_PHILLY_TIME} %z").timestamp()
    except ValueError:
        raise InputError(f"{where}: not a time: {text!r}") from None


def _from_zero(arrivals: list[Arrival]) -> Iterator[Arrival]:
    """Sorted by time, with times from the first arrival on."""
    arrivals.sort(key=lambda arrival: arrival.time)
    for arrival in arrivals:
        yield arrival._replace(time=arrival.time - arrivals[0].time)
