"""Traces of large shared clusters: Alibaba 2018 (batch), Google 2019 (ClusterData), Azure packing 2020."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from stowplan.errors import InputError
from stowplan.traces.loader import TraceLoader
from stowplan.traces.records import GIB, Arrival, TraceNode
from stowplan.traces.rows import amount, find_file, read_lines, read_rows
from stowplan.traces.selection import TraceSelection

_MACHINE = ("machine_id", "time_stamp", "failure_domain_1", "failure_domain_2", "cpu_num", "mem_size", "status")
_TASK = (
    "task_name",
    "instance_num",
    "job_name",
    "task_type",
    "status",
    "start_time",
    "end_time",
    "plan_cpu",
    "plan_mem",
)
_MAX_TIME = 2**63 - 1
_SUBMIT, _SCHEDULE, _FINISH = 0, 3, 6
_ENDS = {4: "evicted", 5: "failed", 6: "succeeded", 7: "killed", 8: "lost"}
_DAY = 86_400.0


class MachineOptions(TraceSelection, kw_only=True, frozen=True):
    """Size of the largest machine, for traces with amounts relative to it."""

    cpus: Annotated[float, Meta(gt=0)] = 64.0
    memory_gib: Annotated[float, Meta(gt=0)] = 512.0


class Alibaba2018(TraceLoader):
    """Loads batch_task.csv and machine_meta.csv, which have no headers. A task's instances are pods of one gang size
    each; dependencies between tasks are not followed."""

    name = "alibaba2018"
    origin = "github.com/alibaba/clusterdata, cluster-trace-v2018"
    Options = MachineOptions
    options: MachineOptions

    def nodes(self) -> Iterator[TraceNode]:
        seen: set[str] = set()
        for row in read_rows(find_file(self.source, "machine_meta.csv"), _MACHINE, _MACHINE):
            name = row.text("machine_id")
            if name not in seen:
                seen.add(name)
                memory = row.amount("mem_size", self.options.memory_gib * GIB / 100)
                yield TraceNode(name, {"cpu": row.amount("cpu_num", 1000), "memory": memory})

    def arrivals(self) -> Iterator[Arrival]:
        found = []
        for row in read_rows(find_file(self.source, "batch_task.csv"), _TASK, _TASK):
            start, end = row.number("start_time"), row.number("end_time", 0)
            if row.text("status") != "Terminated" or end == 0 or not row.text("plan_cpu"):
                self.dropped["not terminated" if row.text("status") != "Terminated" else "without end or plan"] += 1
                continue
            duration = row.duration(start, end, "start_time to end_time")
            memory = row.amount("plan_mem", self.options.memory_gib * GIB / 100, 0)
            found.append(
                Arrival(
                    start,
                    f"{row.text('job_name')}-{row.text('task_name')}",
                    row.text("job_name"),
                    {"cpu": row.amount("plan_cpu", 10), "memory": memory},
                    duration,
                    gang=max(row.amount("instance_num"), 1),
                    outcome="succeeded",
                )
            )
        found.sort(key=lambda arrival: arrival.time)
        yield from found


class Google2019(TraceLoader):
    """Loads instance_events and machine_events of one cell as newline-delimited JSON, in order of time."""

    name = "google2019"
    origin = "github.com/google/cluster-data, ClusterData2019 (CC-BY-4.0)"
    Options = MachineOptions
    options: MachineOptions

    def nodes(self) -> Iterator[TraceNode]:
        seen: set[str] = set()
        for where, event in _json_lines(find_file(self.source, "machine_events.json", "machine_events.jsonl")):
            name = str(_field(where, event, "machine_id"))
            capacity = _amounts_of(where, event, "capacity")
            if name not in seen and capacity.get("cpus"):
                seen.add(name)
                yield TraceNode(f"machine-{name}", self._amounts(where, capacity))

    def arrivals(self) -> Iterator[Arrival]:
        waiting: dict[str, tuple[float, dict[str, Any]]] = {}
        started: dict[str, float] = {}
        found, latest = [], 0
        for where, event in _json_lines(find_file(self.source, "instance_events.json", "instance_events.jsonl")):
            time, kind = _integer(where, event, "time"), _integer(where, event, "type")
            if time == _MAX_TIME:
                self.dropped["after the trace"] += 1
                continue
            if time < latest:
                raise InputError(f"{where}: times run backwards, {time} after {latest}")
            latest = time
            if str(event.get("collection_type")) == "1":
                self.dropped["alloc sets"] += 1
                continue
            key = f"{_field(where, event, 'collection_id')}-{event.get('instance_index') or 0}"
            if kind == _SUBMIT and key not in waiting:
                waiting[key] = (time / 1e6, event)
            elif kind == _SCHEDULE:
                started[key] = time / 1e6
            elif kind == _FINISH and key in waiting and key in started:
                found.append(self._arrival(where, key, *waiting.pop(key), started.pop(key), time / 1e6))
            elif kind in _ENDS and kind != 4 and key in waiting:
                self.dropped[_ENDS[kind]] += 1
                del waiting[key]
        self.dropped["not finished"] += len(waiting)
        found.sort(key=lambda arrival: arrival.time)
        yield from found

    def _arrival(
        self, where: str, key: str, submitted: float, event: dict[str, Any], started: float, ended: float
    ) -> Arrival:
        return Arrival(
            submitted,
            key,
            key.partition("-")[0],
            self._amounts(where, _amounts_of(where, event, "resource_request")),
            ended - started,
            priority=_integer(where, {"priority": 0} | event, "priority"),
            tenant=str(event.get("user") or ""),
            outcome="succeeded",
            waited=started - submitted,
        )

    def _amounts(self, where: str, relative: dict[str, Any]) -> dict[str, int]:
        return {
            "cpu": amount(where, "cpus", relative.get("cpus") or 0, self.options.cpus * 1000),
            "memory": amount(where, "memory", relative.get("memory") or 0, self.options.memory_gib * GIB),
        }


class AzureOptions(MachineOptions, kw_only=True, frozen=True):
    """The machines of the trace are types; how many of each is up to the user."""

    machine: int = 0
    """The machine type whose fractions are used."""
    machines: Annotated[int, Meta(ge=0)] = 0
    """Number of nodes."""


class Azure2020(TraceLoader):
    """Loads packing_trace_zone_a_v1.sqlite. Times are days; a negative one is before the trace."""

    name = "azure2020"
    origin = "github.com/Azure/AzurePublicDataset, AzureTracesForPacking2020 (CC-BY-4.0)"
    Options = AzureOptions
    options: AzureOptions

    def nodes(self) -> Iterator[TraceNode]:
        amounts = {"cpu": round(self.options.cpus * 1000), "memory": round(self.options.memory_gib * GIB)}
        for number in range(self.options.machines):
            yield TraceNode(f"machine-{number}", amounts)

    def arrivals(self) -> Iterator[Arrival]:
        path = find_file(self.source, "packing_trace_zone_a_v1.sqlite")
        query = (
            "SELECT vm.vmId, vm.tenantId, vm.priority, vm.starttime, vm.endtime, t.core, t.memory "
            "FROM vm JOIN vmType t ON t.vmTypeId = vm.vmTypeId AND t.machineId = ? ORDER BY vm.starttime, vm.vmId"
        )
        try:
            with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
                rows = connection.execute(query, (self.options.machine,)).fetchall()
        except sqlite3.Error as problem:
            raise InputError(f"{path}: {problem}") from None
        for vm, tenant, priority, start, end, core, memory in rows:
            where = f"{path}: vm {vm}"
            if not all(isinstance(each, int | float) for each in (start, 0 if end is None else end)):
                raise InputError(f"{where}: starttime or endtime is not a number")
            if end is not None and end < start:
                raise InputError(f"{where}: negative duration, from day {start:g} to {end:g}")
            yield Arrival(
                max(start, 0.0) * _DAY,
                f"vm-{vm}",
                f"vm-{vm}",
                {
                    "cpu": amount(where, "core", core, self.options.cpus * 1000),
                    "memory": amount(where, "memory", memory, self.options.memory_gib * GIB),
                },
                None if end is None else (end - max(start, 0.0)) * _DAY if end > 0 else 0.0,
                priority=1 if priority == 0 else 0,
                tenant=str(tenant),
            )


def _json_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in read_lines(path):
        if not line:
            continue
        where = f"{path}:{number}"
        try:
            event = json.loads(line)
        except (ValueError, RecursionError) as problem:
            raise InputError(f"{where}: {problem}") from None
        if not isinstance(event, dict):
            raise InputError(f"{where}: expected an object")
        yield where, event


def _amounts_of(where: str, event: dict[str, Any], name: str) -> dict[str, Any]:
    found = event.get(name) or {}
    if not isinstance(found, dict):
        raise InputError(f"{where}: {name} is not an object")
    return found


def _integer(where: str, event: dict[str, Any], name: str) -> int:
    """An integer, which exports may write as a text."""
    value = _field(where, event, name)
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{where}: {name} is not an integer: {str(value)[:40]!r}") from None


def _field(where: str, event: dict[str, Any], name: str) -> Any:
    if event.get(name) is None:
        raise InputError(f"{where}: missing columns: {name}")
    return event[name]
