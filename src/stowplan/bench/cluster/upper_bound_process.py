"""The upper bound as a process: binds all pods, then waits to be stopped, so that its CPU time can be read.

With `--watch` it binds each pod as soon as a watch shows it, until it is stopped.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import AsyncIterator

import msgspec

from stowplan.bench.upper_bound import PodKey, bind_as_created, measure_upper_bound
from stowplan.cluster.client import Client
from stowplan.cluster.connection import Connection
from stowplan.cluster.kubeconfig import load_connection
from stowplan.cluster.reflector.watch_frames import FrameSplitter


class _Meta(msgspec.Struct):
    name: str
    namespace: str = ""
    uid: str = ""


class _Item(msgspec.Struct):
    metadata: _Meta


class _Names(msgspec.Struct):
    items: list[_Item]


class _Event(msgspec.Struct):
    type: str
    object: _Item


_EVENTS = msgspec.json.Decoder(_Event)
_WATCH_PARAMETERS = {"watch": "true", "fieldSelector": "spec.nodeName=", "resourceVersion": "0"}
_SILENCE_SECONDS = 3600.0


async def _names(connection: Connection, path: str) -> list[_Meta]:
    client = Client(connection)
    try:
        listed = msgspec.json.decode(await client.get(path), type=_Names)
    finally:
        await client.close()
    return [item.metadata for item in listed.items]


async def run(connection: Connection) -> None:
    """Bind all pods to all nodes, round robin."""
    nodes = await _names(connection, "/api/v1/nodes")
    pods = await _names(connection, "/api/v1/pods")
    keys = [PodKey(pod.namespace, pod.name, pod.uid) for pod in pods]
    await measure_upper_bound(connection, keys, [node.name for node in nodes])


async def follow(connection: Connection) -> None:
    """Bind each pod to one of all nodes, round robin, as soon as a watch shows it."""
    nodes = await _names(connection, "/api/v1/nodes")
    await bind_as_created(connection, _created(connection), [node.name for node in nodes])


async def _created(connection: Connection) -> AsyncIterator[PodKey]:
    client, splitter = Client(connection), FrameSplitter()
    try:
        async with client.open_watch("/api/v1/pods", _WATCH_PARAMETERS, _SILENCE_SECONDS) as pieces:
            async for piece in pieces:
                for event in _EVENTS.decode_lines(splitter.feed(piece)):
                    if event.type == "ADDED":
                        pod = event.object.metadata
                        yield PodKey(pod.namespace, pod.name, pod.uid)
    finally:
        await client.close()


if __name__ == "__main__":
    import uvloop

    if sys.argv[2:] == ["--watch"]:
        uvloop.run(follow(load_connection(sys.argv[1])))
    else:
        uvloop.run(run(load_connection(sys.argv[1])))
        signal.pause()
