"""`stowplan record`: all kinds are listed and watched, each change is written with its time, and nothing is changed."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.builders.objects import node, pod
from tests.unit.cluster.serving import WatchServer, serving

from stowplan.api import codec
from stowplan.api.kinds import KINDS
from stowplan.cli import record
from stowplan.cli.main import cli
from stowplan.cli.record import watch
from stowplan.errors import InputError
from stowplan.traces import cluster_recording
from stowplan.traces.cluster_recording import ClusterRecording, RecordingWriter


class BindingServer(WatchServer):
    """Lists two nodes and a pending pod, and reports over the watch that the pod is bound, once all is listed."""

    def __init__(self) -> None:
        super().__init__([node("n1", "4"), node("n2", "8")], [pod("a", requests={"cpu": 1})])
        self.listed = asyncio.Event()

    async def events(self, path: str) -> AsyncIterator[tuple[str, Any]]:
        if path == "/api/v1/pods":
            await self.listed.wait()
            yield "MODIFIED", pod("a", "n2", requests={"cpu": 1})


def test_a_cluster_is_recorded_and_replayed(tmp_path: Path) -> None:
    file = tmp_path / "r.gz"

    async def run() -> set[str]:
        server = BindingServer()
        async with serving(server.handle) as client:
            writer = RecordingWriter(file, "test", time.time, 2**20)

            def listed() -> None:
                writer.listed()
                server.listed.set()

            try:
                async with asyncio.timeout(20):
                    await watch(client.connection, writer, None, listed, lambda: writer.changes >= 4)
            finally:
                writer.close()
        return server.methods

    assert asyncio.run(run()) == {"GET"}
    recording = ClusterRecording(file)
    lines = [(change.kind, item.metadata.name if item else "") for change, item in recording.changes()]
    assert sorted(lines[:3]) == [("Node", "n1"), ("Node", "n2"), ("Pod", "a")]
    assert lines[3:] == [("", ""), ("Pod", "a")]
    assert recording.complete
    found = CliRunner().invoke(cli, ["replay", str(file)])
    assert found.stdout == "1 bound pod: 1 same\n"


def test_a_time_that_is_none_is_one_line() -> None:
    found = CliRunner().invoke(cli, ["record", "x.gz", "--for", "long"])
    assert found.exit_code == 2
    assert found.stderr.startswith("stowplan: --for long: expected a time such as 90s")


def kubeconfig(tmp_path: Path, server: str) -> list[str]:
    file = tmp_path / "kubeconfig.json"
    context = {"name": "c", "context": {"cluster": "k", "user": "u"}}
    cluster = {"name": "k", "cluster": {"server": server}}
    file.write_text(json.dumps({"current-context": "c", "contexts": [context], "clusters": [cluster],
                                "users": [{"name": "u", "user": {}}]}))  # fmt: skip
    return ["--kubeconfig", str(file)]


@pytest.mark.parametrize("command", [["record", "r.gz"], ["replay", "--from-cluster"]], ids=["record", "replay"])
def test_a_cluster_that_does_not_answer_is_one_line(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = CliRunner().invoke(cli, [*command, "--for", "5m", *kubeconfig(tmp_path, "http://127.0.0.1:1")])
    assert found.exit_code == 2
    assert found.stderr == "stowplan: http://127.0.0.1:1: Connection refused\n"
    assert not Path("r.gz").exists()


@pytest.mark.parametrize("listed", [True, False])
def test_a_recording_without_all_objects_of_the_start_is_marked(
    listed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def watched(connection: Any, sink: Any, seconds: Any, on_listed: Any, is_full: Any) -> None:
        sink.put(KINDS["Node"], [codec.convert(KINDS["Node"].struct, node("n1", "4"))])
        if listed:
            on_listed()

    async def readable(connection: Any) -> None: ...

    monkeypatch.setattr(record, "watch", watched)
    monkeypatch.setattr(record, "check_readable", readable)
    file = tmp_path / "r.gz"
    found = CliRunner().invoke(cli, ["record", str(file), "--for", "1m", *kubeconfig(tmp_path, "http://127.0.0.1:1")])
    if listed:
        assert found.stderr.splitlines() == [
            f"stowplan: {file}: 1 objects listed; recording for 1m, or until Ctrl-C",
            f"stowplan: {file}: 1 changes",
        ]
    else:
        assert found.stderr == (
            f"stowplan: {file}: ended before all objects were listed; the recording is not complete\n"
        )
    assert found.exit_code == (0 if listed else 2)
    replayed = CliRunner().invoke(cli, ["replay", str(file), "-o", "json"])
    assert json.loads(replayed.stdout)["complete"] is listed
    assert ("the recording is not complete" in replayed.stderr) is not listed


def test_a_full_disk_ends_the_command_with_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reflector that writes ends; the other ones do not go on as if nothing had happened."""

    async def written(server: BindingServer) -> None:
        async with serving(server.handle) as client:
            writer = RecordingWriter(file, "test", time.time, 2**20)
            monkeypatch.setattr(cluster_recording.os, "write", full)
            try:
                async with asyncio.timeout(20):
                    await watch(client.connection, writer, None, writer.listed, lambda: False)
            finally:
                writer.close()

    def full(descriptor: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    file = tmp_path / "r.gz"
    monkeypatch.setattr(cluster_recording, "_COMPRESSION_LEVEL", 0)
    server = BindingServer()
    nodes = [node(f"n{number}", "4") for number in range(2000)]
    monkeypatch.setitem(server.items, "/api/v1/nodes", nodes)
    with pytest.raises(InputError, match=r"r.gz: No space left on device; the recording is not complete"):
        asyncio.run(written(server))


def recording(tmp_path: Path, *lines: object) -> Path:
    header = {"kind": "StowplanRecording", "version": 1}
    file = tmp_path / "r.gz"
    file.write_bytes(gzip.compress(b"".join(json.dumps(line).encode() + b"\n" for line in (header, *lines))))
    return file


def test_an_object_of_a_recording_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    file = recording(tmp_path, {"time": 0, "kind": "Node", "object": {"metadata": {"name": 5}}})
    result = CliRunner().invoke(cli, ["replay", str(file)])
    assert result.exit_code == 2
    assert result.stderr.startswith(f"stowplan: {file}: line 2: Node.metadata.name: ")


def test_a_line_of_a_recording_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_recording, "MAX_LINE_BYTES", 100)
    file = recording(tmp_path, {"time": 0, "kind": "Node", "object": {"metadata": {"name": "x" * 200}}})
    with pytest.raises(InputError, match="a line of more than 100 bytes"):
        list(ClusterRecording(file).changes())


def test_another_file_is_no_recording(tmp_path: Path) -> None:
    file = tmp_path / "r.gz"
    file.write_text("apiVersion: v1")
    result = CliRunner().invoke(cli, ["replay", str(file)])
    assert (result.exit_code, result.stderr) == (2, f"stowplan: {file}: not a recording of a cluster\n")
