"""The upper bound as a process: binds all pods, then waits to be stopped, so that its CPU time can be read."""

from __future__ import annotations

import signal
import sys

import msgspec

from stowplan.bench.upper_bound import PodKey, measure_upper_bound
from stowplan.cluster.client import Client
from stowplan.cluster.connection import Connection
from stowplan.cluster.kubeconfig import load_connection


class _Meta(msgspec.Struct):
    name: str
    namespace: str = ""
    uid: str = ""


class _Item(msgspec.Struct):
    metadata: _Meta


class _Names(msgspec.Struct):
    items: list[_Item]


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


if __name__ == "__main__":
    import uvloop

    uvloop.run(run(load_connection(sys.argv[1])))
    signal.pause()
