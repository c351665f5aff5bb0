"""Reports as JSON and YAML, in pieces: a report with all decisions may exceed the memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from stowplan.simulator.report.detailed_decisions import unpack
from stowplan.simulator.report.report import PodReport, SimulationReport


def to_json(report: SimulationReport) -> Iterator[bytes]:
    """One JSON object, with one line for each element of its lists."""
    yield b"{"
    for number, (name, value) in enumerate(_fields(report)):
        yield b'%s"%s":' % (b",\n" if number else b"", name.encode())
        if isinstance(value, tuple):
            yield b"["
            for index, item in enumerate(value):
                yield (b",\n" if index else b"\n") + msgspec.json.encode(_unpacked(item))
            yield b"\n]"
        else:
            yield msgspec.json.encode(value)
    yield b"}\n"


def to_yaml(report: SimulationReport) -> Iterator[bytes]:
    """One YAML document."""
    from stowplan.config import yaml_text

    for name, value in _fields(report):
        if isinstance(value, tuple):
            yield f"{name}:{'' if value else ' []'}\n".encode()
            for item in value:
                yield yaml_text.dump([_plain(_unpacked(item))]).encode()
        else:
            yield yaml_text.dump({name: _plain(value)}).encode()


def _fields(report: SimulationReport) -> Iterator[tuple[str, Any]]:
    """The fields by their names in JSON."""
    for field in msgspec.structs.fields(report):
        yield field.encode_name, getattr(report, field.name)


def _unpacked(item: Any) -> Any:
    if isinstance(item, PodReport) and isinstance(item.decision, bytes):
        return msgspec.structs.replace(item, decision=unpack(item.decision))
    return item


def _plain(item: Any) -> Any:
    """Plain data, converted through JSON, since decision records are JSON already."""
    return msgspec.json.decode(msgspec.json.encode(item))
