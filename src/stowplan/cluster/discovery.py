"""Discovery: the release of an API server, and the versions of API groups that it serves.

Upstream: k8s.io/client-go/discovery/discovery_client.go
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from stowplan.cluster.client import Client
from stowplan.cluster.connection import Connection
from stowplan.cluster.errors import ApiError, ClusterError
from stowplan.config.releases import Release, release_of

_TIMEOUT_SECONDS = 5.0


async def read_release(client: Client) -> Release:
    """The release of the API server. Raises ClusterError, also if the reply has no version."""
    reply = await client.get("/version")
    try:
        return release_of(msgspec.json.decode(reply)["gitVersion"])
    except (msgspec.DecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise ClusterError(f"{client.connection.url}/version: the reply has no version: {error}") from error


async def served_versions(client: Client, group: str) -> tuple[str, ...]:
    """The versions of an API group that the server serves, the preferred one first; empty if it has no such group.

    Raises ClusterError.
    """
    try:
        reply = await client.get(f"/apis/{group}")
        found: list[dict[str, Any]] = msgspec.json.decode(reply)["versions"]
        return tuple(each["version"] for each in found)
    except ApiError as error:
        if error.status == 404:
            return ()
        raise
    except (msgspec.DecodeError, KeyError, TypeError) as error:
        raise ClusterError(f"{client.connection.url}/apis/{group}: the reply has no versions: {error}") from error


def server_release(connection: Connection) -> Release | None:
    """The release of the API server; None if the server does not answer in time or does not say."""

    async def read() -> Release | None:
        client = Client(connection)
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                return await read_release(client)
        except (ClusterError, TimeoutError):
            return None
        finally:
            await client.close()

    return asyncio.run(read())
