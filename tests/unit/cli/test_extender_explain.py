"""What was decided about a pod, from a server and from a file."""

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.unit.extender.server.examples import TIDY, request

from stowplan.cli.main import cli
from stowplan.extender.server.configuration import from_options
from stowplan.extender.server.extender import ExtenderServer

NODES = [("n1", "yes"), *((f"x{number:02}", "no") for number in range(12))]


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["extender", "explain", *arguments])
    return result.exit_code, result.output


@pytest.fixture
def extender(tmp_path: Path) -> Iterator[str]:
    """URL of an extender after two requests and a failed bind."""
    ready, loop = threading.Event(), asyncio.new_event_loop()
    served = ExtenderServer(from_options(port=0, bind_verb="bind", decision_log=str(tmp_path / "log")), [TIDY])

    async def serve() -> None:
        task = asyncio.create_task(served.run())
        for verb, body in (
            ("filter", request(*NODES)),
            ("prioritize", request(*NODES[:2])),
            ("bind", b'{"PodName":"web","PodNamespace":"shop","PodUID":"uid-web","Node":"n1"}'),
        ):
            await served.answering.answer(verb, f"/{verb}", body, loop.time())
        ready.set()
        await task

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert ready.wait(10)
    yield f"http://127.0.0.1:{served.scheduler_port.port}"
    loop.call_soon_threadsafe(served.stop)
    thread.join()
    loop.close()


def test_by_uid_and_by_name(extender: str, tmp_path: Path) -> None:
    status, printed = run("uid-web", "--from", extender)
    assert status == 0
    bind, why, prioritize, *scores, filtered, rejected = printed.splitlines()
    assert bind.endswith(": failed")
    assert "no plugin binds this pod" in why
    assert " prioritize " in prioritize
    assert all(line.startswith("  score ") for line in scores)
    assert filtered.endswith(": 1 of 13 nodes pass")
    assert rejected.startswith("  untidy (Tidy): x00, x01, ")
    assert rejected.endswith("x09 and 2 more")
    pod = json.loads(run("uid-web", "--from", extender, "-o", "json")[1].splitlines()[-1])["decision"]["pod"]
    assert run(pod, "--from", extender)[1].splitlines()[-1] == rejected
    namespace, _, name = pod.partition("/")
    assert run(name, "-n", namespace, "--from", extender)[1].splitlines()[-1] == rejected


def test_from_a_file(extender: str, tmp_path: Path) -> None:
    _, expected = run("uid-web", "--from", extender)
    for _ in range(500):
        if len((tmp_path / "log").read_bytes().splitlines()) == 3:
            break
        threading.Event().wait(0.01)
    assert run("uid-web", "--from", str(tmp_path / "log")) == (0, expected)


def test_nothing_is_known(extender: str, tmp_path: Path) -> None:
    assert run("d/none", "--from", extender) == (2, f"stowplan: {extender}: no decision about d/none is recorded\n")
    (tmp_path / "bad").write_text('{"decision":{"pod":"a"}}\n[]\n')
    assert run("d/none", "--from", str(tmp_path / "bad")) == (2, f"stowplan: {tmp_path}/bad: line 2: not a decision\n")
    assert (
        "http://127.0.0.1:1: cannot read decisions: Connection refused; "
        in run("d/none", "--from", "http://127.0.0.1:1")[1]
    )
