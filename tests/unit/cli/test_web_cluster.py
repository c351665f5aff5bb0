"""`stowplan web --from-cluster`: a cluster of another scheduler is listed, watched, explained, and never written to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from tests.builders.objects import node, pod
from tests.unit.cluster.serving import WatchServer, serving

from stowplan.cli.state import ClusterLogin, StateOptions
from stowplan.cli.web_cluster import WatchedCluster
from stowplan.cli.web_what_if import ClusterWhatIf, offer_what_if
from stowplan.config.defaults import default_configuration

SINCE = "2026-11-16T08:00:00Z"
REJECTED = {
    "type": "PodScheduled",
    "status": "False",
    "lastTransitionTime": SINCE,
    "message": "0/1 nodes are available",
}


class ApiServer(WatchServer):
    """Lists nodes and pods, and sends further nodes over the watch."""

    def __init__(self, nodes: list[Any], pods: list[Any]) -> None:
        super().__init__(nodes, pods)
        self.joining: asyncio.Queue[Any] = asyncio.Queue()

    async def events(self, path: str) -> AsyncIterator[tuple[str, Any]]:
        while path == "/api/v1/nodes":
            yield "ADDED", await self.joining.get()


def watching(server: ApiServer, check: Callable[[WatchedCluster], Awaitable[None]]) -> None:
    async def run() -> None:
        async with serving(server.handle) as client:
            watched = WatchedCluster(client.connection, default_configuration(), {})
            ready = asyncio.Event()
            task = asyncio.create_task(watched._watch.run(ready.set))
            try:
                async with asyncio.timeout(20):
                    await ready.wait()
                    await check(watched)
            finally:
                watched._watch.stop()
                await task

    asyncio.run(run())


def test_a_watched_cluster_is_explained_and_left_alone() -> None:
    server = ApiServer([node("a")], [pod("small", "a", requests={"cpu": 1}), big()])

    async def check(watched: WatchedCluster) -> None:
        source = watched.source
        hello = await source.hello()
        assert (hello.kind, hello.nodes, hello.pods, hello.pending) == ("cluster", 1, 1, 1)
        explained = await source.answers.explain("default", "big", 5)
        assert (explained.queue, explained.pod.since) == (None, SINCE)
        assert explained.as_of.source.startswith("cluster http")
        (group,) = (await source.pending()).groups
        assert (group.pods, group.since) == (1, SINCE)
        (row,) = (await source.group(group.id, 0, 10)).rows
        assert (row.pod, row.place, row.since) == ("default/big", "unknown", SINCE)
        assert (await source.fit("default", "big")).steps[-1].plugin == "NodeResourcesFit"
        assert (await source.answers.why_not("default", "big", "a")).fits is False

    watching(server, check)
    assert server.methods == {"GET"}


def test_changes_arrive_by_the_watch_and_pending_pods_stay_pending() -> None:
    server = ApiServer([node("a")], [big()])

    async def check(watched: WatchedCluster) -> None:
        source = watched.source
        await source.map()
        server.joining.put_nowait(node("b", cpu=64))
        while "b" not in (names := (await source.map()).nodes.name):
            await source.refresh()
            await asyncio.sleep(0.02)
        assert names == ["a", "b"]
        assert (await source.hello()).pending == 1
        assert (await source.answers.explain("default", "big", 5)).verdict == "fits"

    watching(server, check)
    assert server.methods == {"GET"}


def test_what_if_reads_the_cluster_and_leaves_it_alone(tmp_path: Path) -> None:
    server = ApiServer([node("a")], [big()])
    big_node = {"apiVersion": "v1", "kind": "Node", **node("b", cpu=64)}

    async def check(watched: WatchedCluster) -> None:
        file = tmp_path / "kubeconfig"
        file.write_text(kubeconfig(watched.source.shown.name.removeprefix("cluster ")))
        login = StateOptions((), ClusterLogin(str(file), ""))
        offer_what_if(watched.source, ClusterWhatIf(login, default_configuration(), {}))
        runs = watched.source.what_if
        assert runs is not None
        body = {"changes": [{"option": "apply", "value": [json.dumps(big_node)]}]}
        started = runs.start(json.dumps(body).encode())
        while (run := runs.find(started.id)) is not None and run.state == "running":
            await asyncio.sleep(0.02)
        assert run is not None
        assert (run.state, run.message) == ("done", "")
        assert json.loads(bytes(run.answer))["after"]["placed"] == 1
        assert run.command == f"stowplan what-if --from-cluster --kubeconfig {file} -f -"
        assert (await watched.source.hello()).pending == 1

    watching(server, check)
    assert server.methods == {"GET"}


def kubeconfig(url: str) -> str:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {}}],
    }
    return json.dumps(config)


def big() -> Any:
    made = pod("big", requests={"cpu": 9})
    made["status"] = {"conditions": [REJECTED]}
    return made
