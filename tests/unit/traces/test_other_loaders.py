"""Loaders of other traces, on files that the tests write."""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from stowplan.errors import InputError
from stowplan.traces import LOADERS, open_trace, rows
from stowplan.traces.records import GIB, GPU

JOB: dict[str, Any] = {
    "status": "Pass",
    "vc": "team",
    "jobid": "j1",
    "submitted_time": "2017-10-01 00:00:00",
    "attempts": [
        {
            "start_time": "2017-10-01 00:01:00",
            "end_time": "2017-10-01 00:11:00",
            "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}, {"ip": "m2", "gpus": ["gpu0", "gpu1"]}],
        }
    ],
}
BACKWARDS = {"start_time": "2017-10-01 00:03:00", "end_time": "2017-10-01 00:02:00"}
HELIOS = "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue"
SWF = "1 0 5 100 4 -1 -1 8 -1 1024 1 7 -1 -1 -1 -1 -1 -1"


def google(time: int, kind: int, **fields: Any) -> dict[str, Any]:
    request = {"cpus": 0.25, "memory": 0.5}
    return {"time": time, "type": kind, "collection_id": 9, "instance_index": 1, "resource_request": request, **fields}


def lines(*events: dict[str, Any]) -> str:
    return "".join(json.dumps(event) + "\n" for event in events)


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


def azure(folder: Path, *vms: tuple[Any, ...]) -> Path:
    with closing(sqlite3.connect(folder / "packing_trace_zone_a_v1.sqlite")) as made:
        made.execute("CREATE TABLE vm (vmId, tenantId, vmTypeId, priority, starttime, endtime)")
        made.execute("CREATE TABLE vmType (id, vmTypeId, machineId, core, memory, hdd, ssd, nic)")
        made.execute("INSERT INTO vmType VALUES (1, 5, 0, 0.25, 0.5, 0, 0, 0)")
        made.executemany("INSERT INTO vm VALUES (?, ?, 5, ?, ?, ?)", vms)
        made.commit()
    return folder


def test_philly(tmp_path: Path) -> None:
    never = {**JOB, "jobid": "j2", "attempts": []}
    write(
        tmp_path,
        cluster_job_log=json.dumps([never, JOB]),
        cluster_machine_list="machineId,number of GPUs,single GPU mem\nm1,2,24GB\n",
    )
    loader = open_trace("philly", tmp_path)
    (arrival,) = loader.selected()
    assert (arrival.time, arrival.duration, arrival.gang, arrival.waited) == (0, 600, 2, 60)
    assert arrival.requests == {"cpu": 12000, "memory": 120 * GIB, GPU: 2}
    assert (arrival.tenant, arrival.outcome) == ("team", "succeeded")
    assert loader.dropped == {"never ran": 1}
    assert [node.allocatable[GPU] for node in loader.nodes()] == [2]


def test_helios(tmp_path: Path) -> None:
    rows = f"{HELIOS}\nb,u,v,8,64,2,COMPLETED,2020-04-01 00:00:10,2020-04-01 00:00:12,x,50,2\n"
    rows += "a,u,v,0,4,1,FAILED,2020-04-01 00:00:00,None,x,5,0\n"
    first, second = open_trace("helios", write(tmp_path, cluster_log__csv=rows)).selected()
    assert (first.time, first.requests.get(GPU), first.requests["cpu"], first.waited) == (0, None, 4000, None)
    assert (second.time, second.requests[GPU], second.gang, second.waited) == (10, 4, 2, 2)


def test_swf(tmp_path: Path) -> None:
    text = f"; MaxProcs: 100\n{SWF}\n2 3 -1 -1 4 -1 -1 8 -1 -1 0 7 -1 -1 -1 -1 -1 -1\n"
    loader = open_trace("swf", write(tmp_path, log__swf=text), {"coresPerNode": 4})
    (job,) = loader.selected()
    assert (job.gang, job.requests, job.duration, job.tenant) == (2, {"cpu": 4000, "memory": 4 << 20}, 100, "user-7")
    assert loader.dropped == {"without duration": 1}
    assert len(list(loader.nodes())) == 25


def test_alibaba2018(tmp_path: Path) -> None:
    tasks = "M1,3,j_1,1,Terminated,100,160,50,1.5\nR2_1,1,j_1,1,Failed,10,20,50,1\nM1,1,j_0,1,Terminated,50,60,100,1\n"
    write(tmp_path, batch_task__csv=tasks, machine_meta__csv="m_1,0,1,2,96,100,USING\nm_1,5,1,2,96,100,USING\n")
    loader = open_trace("alibaba2018", tmp_path)
    first, second = loader.selected()
    assert (first.job, second.job, second.gang, second.duration) == ("j_0", "j_1", 3, 60)
    assert second.requests == {"cpu": 500, "memory": round(0.015 * 512 * GIB)}
    (node,) = loader.nodes()
    assert node.allocatable == {"cpu": 96000, "memory": 512 * GIB}


def test_google2019(tmp_path: Path) -> None:
    events = (
        google(0, 0, collection_id=8, collection_type=1),
        google(1_000_000, 0),
        google(3_000_000, 3),
        google(4_000_000, 4),
        google(5_000_000, 3),
        google(9_000_000, 6),
        google(9_000_000, 0, instance_index=2),
    )
    machines = lines({"time": 0, "machine_id": 4, "type": 1, "capacity": {"cpus": 0.5, "memory": 0.25}})
    write(tmp_path, instance_events__json=lines(*events), machine_events__json=machines)
    loader = open_trace("google2019", tmp_path)
    (arrival,) = loader.selected()
    assert (arrival.time, arrival.duration, arrival.waited, arrival.job) == (1, 4, 4, "9")
    assert arrival.requests == {"cpu": 16000, "memory": 256 * GIB}
    assert loader.dropped == {"alloc sets": 1, "not finished": 1}
    (node,) = loader.nodes()
    assert node.allocatable == {"cpu": 32000, "memory": 128 * GIB}


def test_azure2020(tmp_path: Path) -> None:
    azure(tmp_path, (1, 7, 0, 0.5, None), (2, 7, 1, -3.0, 0.25))
    early, late = open_trace("azure2020", tmp_path, {"machines": 2}).selected()
    assert (early.key, early.time, early.duration, early.priority) == ("vm-2", 0, 21600, 0)
    assert (late.time, late.duration, late.priority) == (43200, None, 1)
    assert late.requests == {"cpu": 16000, "memory": 256 * GIB}


def test_azure2020_in_a_folder_with_signs_of_addresses(tmp_path: Path) -> None:
    folder = tmp_path / "a?b#c%20"
    folder.mkdir()
    (found,) = open_trace("azure2020", azure(folder, (1, 7, 0, 0.5, None))).selected()
    assert found.key == "vm-1"


BAD: dict[str, tuple[str, dict[str, str], str]] = {
    "philly fields": ("philly", {"cluster_job_log": '[{"jobid": 1}]'}, "missing fields: submitted_time, attempts"),
    "philly json": ("philly", {"cluster_job_log": "[{"}, "cluster_job_log: "),
    "philly list": ("philly", {"cluster_job_log": "{}"}, "expected a list of jobs"),
    "philly time": ("philly", {"cluster_job_log": json.dumps([{**JOB, "submitted_time": "now"}])}, "not a time: 'now'"),
    "philly duration": (
        "philly",
        {"cluster_job_log": json.dumps([{**JOB, "attempts": [*JOB["attempts"], BACKWARDS]}])},
        "cluster_job_log: job j1: negative duration of an attempt, -60 s",
    ),
    "helios columns": ("helios", {"cluster_log__csv": "job_id,user\n"}, "missing columns: vc, gpu_num"),
    "helios duration": (
        "helios",
        {"cluster_log__csv": f"{HELIOS}\nb,u,v,8,64,2,C,2020-04-01 00:00:10,None,x,-50,2\n"},
        "cluster_log.csv:2: negative duration: -50",
    ),
    "swf backwards": (
        "swf",
        {"log__swf": SWF.replace("1 0", "1 9", 1) + "\n" + SWF + "\n"},
        "log.swf:2: times run backwards, 0 after 9",
    ),
    "swf duration": ("swf", {"log__swf": SWF.replace(" 100 ", " -100 ")}, "log.swf:1: negative duration: -100"),
    "swf columns": ("swf", {"log__swf": "1 2 3\n"}, "log.swf:1: 3 numbers instead of 18"),
    "swf words": ("swf", {"log__swf": "a b\n"}, "log.swf:1: expected 18 numbers"),
    "alibaba columns": ("alibaba2018", {"batch_task__csv": "M1,3,j_1\n"}, "batch_task.csv:1: 3 columns instead of 9"),
    "alibaba duration": (
        "alibaba2018",
        {"batch_task__csv": "M1,3,j_1,1,Terminated,100,60,50,1\n"},
        "batch_task.csv:1: negative duration, start_time to end_time runs from 100 to 60",
    ),
    "google backwards": (
        "google2019",
        {"instance_events__json": lines(google(5, 0), google(4, 3))},
        "instance_events.json:2: times run backwards, 4 after 5",
    ),
    "google columns": ("google2019", {"instance_events__json": '{"time": 3}\n'}, ":1: missing columns: type"),
    "google json": ("google2019", {"instance_events__json": "{\n"}, "instance_events.json:1: "),
    "azure file": ("azure2020", {"packing_trace_zone_a_v1__sqlite": "no database"}, "file is not a database"),
    "no file": ("azure2020", {}, "no file packing_trace_zone_a_v1.sqlite"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line(tmp_path: Path, case: str) -> None:
    loader, files, problem = BAD[case]
    write(tmp_path, **files)
    with pytest.raises(InputError) as found:
        list(open_trace(loader, tmp_path).selected())
    assert problem in str(found.value)
    assert "\n" not in str(found.value)


def test_azure_durations(tmp_path: Path) -> None:
    azure(tmp_path, (1, 7, 0, 2.0, 1.0))
    with pytest.raises(InputError, match="vm 1: negative duration, from day 2 to 1"):
        list(open_trace("azure2020", tmp_path).selected())


def test_every_loader_says_where_its_trace_is_described() -> None:
    assert len(LOADERS) == 8
    assert all(loader.origin and loader.name == name for name, loader in LOADERS.items())


def swf(**fields: str) -> str:
    """A job with some of its fields replaced: `f1` is the second one."""
    values = SWF.split()
    for name, value in fields.items():
        values[int(name[1:])] = value
    return " ".join(values)


def philly(**fields: Any) -> str:
    return json.dumps([{**JOB, **fields}])


@pytest.mark.parametrize(
    ("loader", "files", "problem"),
    [
        ("swf", {"a__swf": swf(f3="nan")}, "a.swf:1: a number is not finite"),
        ("swf", {"a__swf": swf(f7="inf")}, "a.swf:1: a number is not finite"),
        ("swf", {"a__swf": swf(f7="1e300")}, "job-1: .* pods; from 1 to 100,000 can be read"),
        ("swf", {"a__swf": swf(f3="1e300")}, r"job-1: the duration 1e\+300 is not from 0"),
        ("swf", {"a__swf": swf(f1="-5")}, "times run backwards"),
        ("swf", {"a__swf": swf(f9="1e300")}, "a.swf:1: memory is too large"),
        ("swf", {"a__swf": "x" * 200}, "a.swf:1: a line of more than 100 characters"),
        ("philly", {"cluster_job_log": philly(attempts=5)}, "job j1: attempts is not a list of objects"),
        ("philly", {"cluster_job_log": philly(attempts=["x"])}, "job j1: attempts is not a list of objects"),
        ("philly", {"cluster_job_log": "[" * 100_000}, "cluster_job_log: "),
        ("philly", {"cluster_job_log": philly(status="x" * 2000)}, "larger than the allowed 1,000 characters"),
        (
            "google2019",
            {"instance_events__json": lines(google(0, 0) | {"time": "soon"})},
            ":1: time is not an integer: 'soon'",
        ),
        ("google2019", {"instance_events__json": '{"time": NaN, "type": 0}'}, ":1: time is not an integer: 'nan'"),
        ("google2019", {"instance_events__json": "[" * 90}, "instance_events.json:1: "),
        (
            "google2019",
            {"instance_events__json": lines(google(0, 0, resource_request=[1]), google(1, 3), google(2, 6))},
            ":3: resource_request is not an object",
        ),
        (
            "google2019",
            {
                "instance_events__json": lines(
                    google(0, 0, resource_request={"cpus": 1e308}), google(1, 3), google(2, 6)
                )
            },
            r":3: cpus is too large: 1e\+308",
        ),
        (
            "alibaba2018",
            {"batch_task__csv": "t,99999999999,j,1,Terminated,1,2,100,1"},
            "j-t: 99,999,999,999 pods; from 1 to 100,000 can be read",
        ),
        ("alibaba2018", {"batch_task__csv": "t,1,j,1,Terminated,1,2,1e308,1"}, ":1: plan_cpu is too large"),
        ("alibaba2018", {"batch_task__csv": "t,1,j,1,Terminated,1,2,1,-1"}, ":1: plan_mem is negative"),
    ],
)
def test_absurd_values_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loader: str, files: dict[str, str], problem: str
) -> None:
    monkeypatch.setattr(rows, "MAX_LINE_CHARS", 100 if loader == "swf" else 1000)
    monkeypatch.setattr(rows, "MAX_TEXT_CHARS", 1000 if "x" * 2000 in "".join(files.values()) else 1 << 20)
    with pytest.raises(InputError, match=problem) as raised:
        list(open_trace(loader, write(tmp_path, **files)).selected())
    assert str(tmp_path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_azure_texts_for_numbers_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="vm 1: starttime or endtime is not a number"):
        list(open_trace("azure2020", azure(tmp_path, (1, 7, 0, "x", None))).selected())


def test_a_machine_list_without_bounds_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a.swf: MaxProcs is too large"):
        list(open_trace("swf", write(tmp_path, a__swf=f"; MaxProcs: {'9' * 5000}\n{SWF}")).nodes())


def test_a_truncated_compressed_trace_is_one_line(tmp_path: Path) -> None:
    packed = gzip.compress(f"{SWF}\n".encode() * 1000)
    (tmp_path / "a.swf.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputError, match=r"a\.swf\.gz: cannot be read: "):
        list(open_trace("swf", tmp_path / "a.swf.gz").selected())
