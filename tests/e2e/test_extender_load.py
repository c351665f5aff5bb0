"""An extender under load, and its end in the middle of it.

Three seconds in the test suite, or longer where a machine is slow. The long form takes as long as STOWPLAN_LOAD_SECONDS
says:

    STOWPLAN_LOAD_SECONDS=60 pytest -s tests/e2e/test_extender_load.py
"""

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import pytest
from tests.e2e.extending import ExtenderProcess

from stowplan.testing import rss_mib

CONNECTIONS = 16
LEAST = 200
"""So many requests make a load, however long they take."""
SECONDS = float(os.environ.get("STOWPLAN_LOAD_SECONDS", "3"))

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(SECONDS + 300)]


@dataclass
class Tally:
    """What became of the requests."""

    answered: int = 0
    lost: list[str] = field(default_factory=list)
    slowest: float = 0.0
    ending: bool = False


@pytest.fixture
def extender(tmp_path: Path) -> Iterator[ExtenderProcess]:
    running = ExtenderProcess(tmp_path, "extender")
    running.start()
    try:
        running.wait_ready()
        yield running
    finally:
        running.stop()


def body(number: int) -> bytes:
    """About one of some pods, and whole nodes, some of which differ from request to request."""
    nodes = [
        {"metadata": {"name": f"n{i}", "labels": {"turn": str(number if i == 0 else 0)}}, "status": {"images": []}}
        for i in range(100)
    ]
    labels = {"refuse": f"n{number % 100}", "prefer": "n5"}
    pod = {"metadata": {"name": f"p{number}", "namespace": "d", "uid": f"u{number}", "labels": labels}, "spec": {}}
    return json.dumps({"Pod": pod, "Nodes": {"metadata": {}, "items": nodes}, "NodeNames": None}).encode()


async def ask(port: int, tally: Tally, first: int, until: float) -> None:
    """One client: a request after the other on a connection that is kept as long as the server keeps it."""
    number, connection = first, None
    while monotonic() < until or tally.answered < LEAST:
        number += CONNECTIONS
        if connection is None:
            try:
                connection = await asyncio.open_connection("127.0.0.1", port)
            except OSError as error:
                if not tally.ending:
                    tally.lost.append(f"cannot connect: {error}")
                return
        verb = "prioritize" if number % 2 else "filter"
        content = body(number % 5000)
        began = monotonic()
        try:
            keeps = await _exchange(*connection, verb, content)
        except (OSError, asyncio.IncompleteReadError, AssertionError) as error:
            tally.lost.append(f"{type(error).__name__}: {error}")
            return
        tally.answered += 1
        tally.slowest = max(tally.slowest, monotonic() - began)
        if not keeps:
            connection[1].close()
            connection = None
    if connection is not None:
        connection[1].close()


async def _exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, verb: str, content: bytes) -> bool:
    head = (
        f"POST /{verb} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    writer.write(head.encode() + content)
    lines = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
    length = next(int(line.partition(": ")[2]) for line in lines if line.startswith("content-length"))
    reply = json.loads(await reader.readexactly(length))
    assert lines[0] == "http/1.1 200 ok"
    if verb == "filter":
        assert len(reply["Nodes"]["items"]) == 99
        assert not reply["Error"]
    else:
        assert {"Host": "n5", "Score": 10} in reply
    return "connection: close" not in lines


def load(extender: ExtenderProcess, seconds: float, *, end_after: float | None = None) -> Tally:
    port, tally = int(extender.url.rpartition(":")[2]), Tally()

    async def run() -> None:
        until = monotonic() + seconds
        clients = [asyncio.create_task(ask(port, tally, first, until)) for first in range(CONNECTIONS)]
        if end_after is not None:
            await asyncio.sleep(end_after)
            while tally.answered < LEAST and not all(client.done() for client in clients):
                await asyncio.sleep(0.1)
            tally.ending = True
            os.kill(extender.process.pid, signal.SIGTERM)
        await asyncio.gather(*clients)

    asyncio.run(run())
    return tally


def test_no_error_and_no_growth(extender: ExtenderProcess) -> None:
    warmed = load(extender, max(1.0, SECONDS / 4))
    before = rss_mib(extender.process.pid)
    tally = load(extender, SECONDS)
    grown = rss_mib(extender.process.pid) - before
    print(  # noqa: T201  # the figures of the long form
        f"\n{tally.answered} requests on {CONNECTIONS} connections in {SECONDS:g} s, {len(tally.lost)} lost, "
        f"slowest {tally.slowest * 1000:.0f} ms, grown by {grown:.1f} MiB from {before:.0f} MiB"
    )
    assert tally.lost == warmed.lost == []
    assert grown < 16
    metrics = extender.metrics()
    assert metrics["stowplan_extender_requests_in_flight"] == 0
    assert metrics['stowplan_extender_abandoned_total{verb="filter"}'] == 0


def test_sigterm_during_load_loses_nothing(extender: ExtenderProcess) -> None:
    tally = load(extender, 120.0, end_after=max(1.0, SECONDS / 6))
    assert tally.lost == []
    assert tally.answered >= LEAST
    assert extender.process.wait() == 0
