"""Reports as JSON and YAML, in pieces: a report with all decisions may exceed the memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from stowplan.simulator.report.detailed_decisions import unpack
from stowplan.simulator.report.report import PodReport, SimulationReport

_LISTS = ("pods", "pending", "preemptions", "nodes")


def to_json(report: SimulationReport) -> Iterator[bytes]:
    """One JSON object, with one line for each element of its lists."""
    yield b"{"
    for name in _LISTS:
        yield b'"%s":[' % name.encode()
        for index, item in enumerate(getattr(report, name)):
            yield (b",\n" if index else b"\n") + msgspec.json.encode(_unpacked(item))
        yield b"\n],\n"
    yield b'"summary":' + msgspec.json.encode(report.summary)
    yield b',\n"unknownKinds":' + msgspec.json.encode(report.unknown_kinds)
    yield b"}\n"


def to_yaml(report: SimulationReport) -> Iterator[bytes]:
    """One YAML document."""
    from stowplan.config import yaml_text

    for name in _LISTS:
        items = getattr(report, name)
        yield f"{name}:{'' if items else ' []'}\n".encode()
        for item in items:
            yield yaml_text.dump([_plain(_unpacked(item))]).encode()
    rest = {"summary": _plain(report.summary), "unknownKinds": report.unknown_kinds}
    yield yaml_text.dump(rest).encode()


def _unpacked(item: Any) -> Any:
    if isinstance(item, PodReport) and isinstance(item.decision, bytes):
        return msgspec.structs.replace(item, decision=unpack(item.decision))
    return item


def _plain(item: Any) -> Any:
    """Plain data, by way of JSON, since decision records are JSON already."""
    return msgspec.json.decode(msgspec.json.encode(item))
