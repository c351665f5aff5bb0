"""Requests are written down without secrets, and asked again of other code."""

import asyncio
import json
from pathlib import Path
from time import monotonic

import pytest
from tests.unit.extender.server.examples import TIDY, Lax, request
from tests.unit.extender.server.fakes import reply

from stowplan import api
from stowplan.errors import InputError
from stowplan.extender.handlers import GroupMember, Handlers, Verb
from stowplan.extender.server.line_file import LineFile
from stowplan.extender.server.metrics import ServerMetrics
from stowplan.extender.server.paths import Paths
from stowplan.extender.server.recording import Recording, read_recording
from stowplan.extender.server.replay import replayed
from stowplan.extender.server.request_handling import Answering, HttpExchange
from stowplan.observe.registry import MetricRegistry

NODES = (("n1", "yes"), ("n22", "no"), ("n333", "yes"))


def record(tmp_path: Path, *asked: tuple[Verb, bytes]) -> list[bytes]:
    """The lines of a recording in which the tidy plugin answers."""
    file = LineFile(str(tmp_path / "requests.jsonl"))
    handlers = Handlers([TIDY])

    async def run() -> None:
        observer = Recording(file, clock=lambda: 5.0)
        answering = Answering(handlers, Paths(), ServerMetrics(MetricRegistry()), [observer])
        for verb, body in asked:
            await answering.answer(verb, f"/{verb}", body, monotonic())

    asyncio.run(run())
    handlers.close()
    file.close()
    return (tmp_path / "requests.jsonl").read_bytes().splitlines()


def test_what_is_written_down(tmp_path: Path) -> None:
    lines = record(tmp_path, ("filter", request(*NODES)), ("filter", b"nonsense"))
    assert b"hush" not in b"".join(lines)
    first, second = (json.loads(line) for line in lines)
    assert (first["verb"], first["status"], first["time"]) == ("filter", 200, 5.0)
    assert first["request"]["Pod"]["metadata"]["name"] == "web"
    assert first["reply"]["FailedNodes"] == {"n22": "untidy"}
    assert (second["status"], second["request"]) == (400, None)


def test_the_same_code_answers_the_same(tmp_path: Path) -> None:
    lines = record(tmp_path, ("filter", request(*NODES)), ("prioritize", request(*NODES)))
    outcomes = list(replayed(lines, "x", [TIDY]))
    assert [outcome.differences for outcome in outcomes] == [(), ()]
    assert outcomes[0].title == "filter d/web"


def test_changed_code(tmp_path: Path) -> None:
    lines = record(tmp_path, ("filter", request(*NODES)), ("prioritize", request(*NODES)))
    filtered, scored = replayed(lines, "x", [GroupMember(Lax)])
    assert filtered.differences == (
        "passes -> rejected: untidy: n1, n333",
        "rejected: untidy -> passes: n22",
    )
    assert scored.differences == ()


def test_nodes_that_requests_only_name_come_along(tmp_path: Path) -> None:
    known = [api.Node(metadata=api.ObjectMeta(name=name, labels={"tidy": value})) for name, value in NODES]
    file = LineFile(str(tmp_path / "x"))
    recording = Recording(file)
    recording.add_nodes(known)
    answer = b'{"NodeNames":["n1","n333"],"FailedNodes":{"n22":"untidy"},"Error":""}'
    for _ in range(2):
        exchange = HttpExchange("filter", "/filter", "", request(*NODES, names_only=True), reply("filter", answer), 0.1)
        recording.note(exchange)
    file.close()
    lines = (tmp_path / "x").read_bytes().splitlines()
    assert len(lines) == 5
    outcomes = list(replayed(lines, "x", [TIDY]))
    assert [outcome.differences for outcome in outcomes] == [(), ()]


def test_annotations_may_be_kept(tmp_path: Path) -> None:
    node = api.Node(metadata=api.ObjectMeta(name="n1", annotations={"gpu": "2", "other": "hush"}))
    file = LineFile(str(tmp_path / "x"))
    Recording(file, keep_annotations=["gpu"]).add_nodes([node])
    file.close()
    first = next(read_recording((tmp_path / "x").read_bytes().splitlines(), "x"))
    assert first.node is not None
    assert first.node.metadata.annotations == {"gpu": "2"}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([b"{}", b"{"], "x: line 2: not a recorded request: Input data was truncated"),
        ([b"[]"], "x: line 1: not a recorded request: Expected `object`, got `array`"),
        ([], "x: it contains no request that can be replayed"),
        ([b'{"verb":"bind","request":{}}'], "x: it contains no request that can be replayed"),
    ],
)
def test_what_cannot_be_replayed(lines: list[bytes], message: str) -> None:
    with pytest.raises(InputError) as caught:
        list(replayed(lines, "x", [TIDY]))
    assert str(caught.value) == message
