"""The MCP server: its tools, over standard input and output with the official client."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.builders.manifests import WEB

from stowplan.cli.main import cli
from stowplan.errors import StowplanError

NODE = '{kind: Node, metadata: {name: ant}, status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}}}'
CLUSTER = f"{NODE}\n---{WEB}"
EXTRA = '{"kind": "Pod", "metadata": {"name": "extra"}, "spec": {"containers": [{"name": "main", "image": "main"}]}}'


def talk(folder: Path, conversation: Callable[[Any], Awaitable[None]]) -> None:
    """Start the server on the cluster, and run the conversation with a client of it."""
    if "CI" not in os.environ:
        pytest.importorskip("mcp", reason="the package mcp is not installed: make setup")
    from mcp import Client, StdioServerParameters

    (folder / "cluster.yaml").write_text(CLUSTER)
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "stowplan", "mcp", "-f", str(folder / "cluster.yaml")]
    )

    async def run() -> None:
        from mcp import stdio_client

        async with Client(stdio_client(command)) as client:
            await conversation(client)

    asyncio.run(run())


def content(result: Any) -> dict[str, Any]:
    assert not result.is_error, result.content
    found: dict[str, Any] = result.structured_content
    return found


def test_tools(tmp_path: Path) -> None:
    async def conversation(client: Any) -> None:
        tools = (await client.list_tools()).tools
        assert sorted(tool.name for tool in tools) == ["explain", "simulate", "what_if", "why_not"]
        assert all(tool.annotations.read_only_hint for tool in tools)

        simulated = content(await client.call_tool("simulate", {}))
        assert simulated["summary"]["pending"] == 1
        (pending,) = simulated["pending"]
        (waiting,) = pending["pods"]

        explained = content(await client.call_tool("explain", {"pod": waiting}))
        assert explained["because"]["id"] == "resources.insufficient"
        assert explained["verdict"] == "not-now"
        groups = content(await client.call_tool("explain", {}))
        assert groups["pods"] == 1

        refused = content(await client.call_tool("why_not", {"pod": waiting, "node": "ant"}))
        assert not refused.get("fits")

        more = content(await client.call_tool("what_if", {"add_nodes": 1, "like": "ant"}))
        assert more["after"]["pending"] == 0
        applied = content(await client.call_tool("simulate", {"manifests": EXTRA}))
        assert {"pod": "default/extra", "status": "Placed", "node": "ant"} in applied["pods"]

        missing = await client.call_tool("explain", {"pod": "nope"})
        assert missing.is_error
        assert "nope" in missing.content[0].text

    talk(tmp_path, conversation)


def test_a_source_is_needed() -> None:
    result = CliRunner().invoke(cli, ["mcp"])
    assert result.exit_code == 2
    assert "Missing the state" in result.output


def test_the_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    result = CliRunner().invoke(cli, ["mcp", "-f", str(tmp_path / "cluster.yaml")])
    assert result.exit_code == 2
    assert "this command needs the package mcp: pip install 'mcp>=2.3'" in result.output
    assert not isinstance(result.exception, StowplanError)
