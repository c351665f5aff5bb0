"""`stowplan web --recording`: a run that `-o html` recorded, on the page of this version."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from urllib.parse import quote

import msgspec
from aiohttp import web

from stowplan.cache.volumes import ZONE
from stowplan.cli.streams import opened, read, shown
from stowplan.errors import InputError
from stowplan.serving.page_server import page_response
from stowplan.serving.pages import Page, PageRequest, Pages, status_page
from stowplan.simulator.what_if.diff import diff, recorded
from stowplan.simulator.what_if.diff_text import diff_lines
from stowplan.simulator.what_if.recorded_run import RecordedNode, RecordedPod, RecordedRun
from stowplan.simulator.what_if.serialized import raw_json
from stowplan.web.report import ANSWER_PATH_SAFE, InvalidReportError, report_answers
from stowplan.web.routes import API_PREFIX, compressed
from stowplan.web.what_if import ComparedRuns
from stowplan.web.wire import Constant, Hello, Ints, NodeMap, PodColumns, PodNames

_RUN = "1"
_NOT_RECORDED = status_page(404, "NotFound", "the recording does not contain the answer")


def is_compressed(file: str) -> bool:
    """Whether the file is one of `stowplan record`, which are compressed."""
    with opened(file) as stream:
        return stream.read(2) == b"\x1f\x8b"


def read_recording(file: str) -> dict[str, bytes]:
    """The answers of a file by their path. Raises InputError."""
    try:
        answers = {path: bytes(answer) for path, answer in report_answers(read(file)).items()}
        hello = msgspec.json.decode(answers["hello"], type=Hello)
    except (InvalidReportError, msgspec.DecodeError, KeyError) as problem:
        raise InputError(f"{shown(file)}: a file that 'stowplan simulate -o html' wrote is expected") from problem
    answers["hello"] = msgspec.json.encode(msgspec.structs.replace(hello, kind="recording"))
    return answers


def compared(files: tuple[str, str]) -> dict[str, bytes]:
    """The answers of the second recording, with its comparison with the first. Raises InputError."""
    recordings = [read_recording(file) for file in files]
    runs = [recorded(_run(file, answers)) for file, answers in zip(files, recordings, strict=True)]
    answer = diff(*runs)
    histories = [msgspec.Raw(answers["history"]) for answers in recordings if "history" in answers]
    maps = {
        "before": msgspec.Raw(recordings[0]["map"]),
        "after": msgspec.Raw(recordings[1]["map"]),
        "histories": histories if len(histories) == len(recordings) else None,
        "unit": msgspec.json.decode(recordings[1]["hello"], type=Hello).unit,
    }
    run = ComparedRuns(
        id=_RUN,
        kind="diff",
        state="done",
        command=shlex.join(["stowplan", "web", *(word for file in files for word in ("--recording", file))]),
        before=runs[0].name,
        after=runs[1].name,
        sentence=answer.sentence,
        answer=raw_json(answer),
        text=tuple(diff_lines(answer, None, wide=True, everything=False)),
    )
    hello = msgspec.json.decode(recordings[1]["hello"], type=Hello)
    features = [*dict.fromkeys([*hello.features, "compare"])]
    return {
        **recordings[1],
        "hello": msgspec.json.encode(msgspec.structs.replace(hello, features=features)),
        "compare": msgspec.json.encode([msgspec.structs.replace(run, answer=None, text=())]),
        f"run/{_RUN}": msgspec.json.encode(run),
        f"run/{_RUN}/maps": msgspec.json.encode(maps),
    }


def _run(file: str, answers: Mapping[str, bytes]) -> RecordedRun:
    """The pods and nodes of a recording at its end."""
    shown_map = msgspec.json.decode(answers["map"], type=NodeMap)
    columns = shown_map.nodes
    size = len(columns.name)
    zones = columns.labels.get(ZONE)
    zone = [""] * size if zones is None else [zones.values[each] for each in _listed(zones.index, size)]
    requested = {name: _listed(values, size) for name, values in columns.requested.items()}
    offered = {name: _listed(values, size) for name, values in columns.allocatable.items()}
    nodes = [
        RecordedNode(
            node=name,
            zone=zone[slot],
            requested={resource: values[slot] for resource, values in requested.items()},
            allocatable={resource: values[slot] for resource, values in offered.items()},
        )
        for slot, name in enumerate(columns.name)
        if name
    ]
    return RecordedRun(os.path.basename(file), list(_pods(answers, columns.name, zone)), nodes)


def _pods(answers: Mapping[str, bytes], nodes: list[str], zones: list[str]) -> Iterator[RecordedPod]:
    if "pods" not in answers or "pods?names" not in answers:
        return
    pods = msgspec.json.decode(answers["pods"], type=PodColumns)
    names = msgspec.json.decode(answers["pods?names"], type=PodNames)
    prefixes = _listed(names.prefix.index, pods.number)
    workloads = _listed(pods.workload.index, pods.number)
    for number, slot in enumerate(_listed(pods.node, pods.number)):
        workload = pods.workload.values[workloads[number]]
        yield RecordedPod(
            pod=names.prefix.values[prefixes[number]] + names.suffix[number],
            workload=workload if workload.count("/") > 1 else "",
            node=nodes[slot] if slot >= 0 else "",
            zone=zones[slot] if slot >= 0 else "",
        )


def _listed(column: Ints, size: int) -> list[int]:
    return [column.all] * size if isinstance(column, Constant) else column


def add_recorded_pages(pages: Pages, answers: Mapping[str, bytes]) -> None:
    """Serves the answers at the paths at which a server computes them."""

    async def answer(request: PageRequest) -> Page:
        if request.method not in ("GET", "HEAD"):
            return status_page(405, "MethodNotAllowed", "a recording answers GET requests only")
        segments = request.path.removeprefix(API_PREFIX).split("/")
        query = "&".join(
            f"{name}={values[0]}" if values[0] else name for name, values in request.query.items() if values
        )
        path = "/".join(quote(segment, safe=ANSWER_PATH_SAFE) for segment in segments)
        found = answers.get(f"{path}?{query}" if query else path)
        return _NOT_RECORDED if found is None else await compressed(request, found)

    pages.add_async(API_PREFIX, answer)


async def no_stream(request: web.BaseRequest, headers: Mapping[str, str]) -> web.StreamResponse:
    """Nothing changes in a recording."""
    return page_response(_NOT_RECORDED, headers)
