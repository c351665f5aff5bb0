import json
import threading
import time
from pathlib import Path

import pytest
from tests.unit.extender.server.fakes import reply

from stowplan.errors import ConfigError
from stowplan.extender.handlers import Verb
from stowplan.extender.server.decisions import DecisionLog
from stowplan.extender.server.line_file import LineFile
from stowplan.extender.server.request_handling import HttpExchange

pytestmark = pytest.mark.usefixtures("klog")


def exchange(verb: Verb, uid: str) -> HttpExchange:
    told = reply(verb, b"{}", pod=f"d/{uid}", pod_uid=uid)
    return HttpExchange(verb, f"/{verb}", "127.0.0.1", b"{}", told, 0.0123456789)


def test_the_latest_first_and_by_pod() -> None:
    log = DecisionLog(3, clock=lambda: 0.5)
    for verb, uid in (("filter", "a"), ("filter", "b"), ("prioritize", "a"), ("filter", "c")):
        log.note(exchange(verb, uid))  # type: ignore[arg-type]
    assert [(entry.verb, entry.uid) for entry in log.find()] == [("filter", "c"), ("prioritize", "a"), ("filter", "b")]
    assert [entry.verb for entry in log.find("a")] == ["prioritize"]
    assert [entry.verb for entry in log.find("d/a")] == ["prioritize"]
    assert len(list(log.find(limit=2))) == 2
    assert next(log.find("a")).as_json() == {
        "time": "1970-01-01T00:00:00.500Z",
        "verb": "prioritize",
        "status": 200,
        "seconds": 0.012346,
        "decision": {"pod": "d/a", "uid": "a"},
    }


def test_fewer_are_kept_where_they_are_large() -> None:
    log = DecisionLog(100)
    for number in range(20):
        told = exchange("filter", f"{number}")
        told.reply.facts.nodes_in = 30_000
        log.note(told)
    assert [entry.uid for entry in log.find()] == ["19", "18", "17", "16", "15", "14"]


def test_a_line_each_in_a_file(tmp_path: Path) -> None:
    file = LineFile(str(tmp_path / "decisions.jsonl"))
    log = DecisionLog(0, file)
    for uid in ("a", "b"):
        log.note(exchange("filter", uid))
    file.close()
    lines = (tmp_path / "decisions.jsonl").read_text().splitlines()
    assert [json.loads(line)["decision"]["uid"] for line in lines] == ["a", "b"]
    assert list(log.find()) == []


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file or directory"):
        LineFile(str(tmp_path / "missing" / "file"))


def test_lines_that_fail_or_come_too_fast_cost_only_themselves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stowplan.extender.server.line_file._MAX_QUEUED", 2)
    file, go_on = LineFile(str(tmp_path / "x")), threading.Event()
    file.put(lambda: (b"%d" % go_on.wait(60),))
    while not file._queue.empty():
        pass
    file.put(lambda: [b"bad"[9]])  # type: ignore[list-item]
    file.put(lambda: [b"good"])
    file.put(lambda: [b"one too many"])
    go_on.set()
    file.close()
    assert (tmp_path / "x").read_bytes() == b"1\ngood\n"
    told = capsys.readouterr().err
    assert "Failed to write a line" in told
    assert "Lines were dropped" in told


def test_lines_that_wait_hold_on_to_so_much_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stowplan.extender.server.line_file._MAX_QUEUED_BYTES", 100)
    file, go_on = LineFile(str(tmp_path / "x")), threading.Event()

    def slow() -> list[bytes]:
        go_on.wait(60)
        return [b"slow"]

    file.put(slow, 1_000)  # too large, but alone
    file.put(lambda: [b"no room"], 1)
    assert file.dropped == 1
    go_on.set()
    while file._waiting:
        time.sleep(0.001)
    file.put(lambda: [b"later"], 60)
    file.close()
    assert (tmp_path / "x").read_bytes() == b"slow\nlater\n"


def test_the_end_does_not_wait_for_a_disk_that_hangs(tmp_path: Path) -> None:
    file, hangs = LineFile(str(tmp_path / "x")), threading.Event()

    def stuck() -> list[bytes]:
        hangs.wait(60)
        return []

    file.put(stuck)
    while not file._queue.empty():
        time.sleep(0.001)
    for _ in range(100):
        file.put(stuck)
    began = time.monotonic()
    file.close(0.05)
    assert time.monotonic() - began < 30
    hangs.set()
