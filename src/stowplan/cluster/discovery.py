"""Discovery: the release of an API server, and the versions of API groups that it serves.

Upstream: k8s.io/client-go/discovery/discovery_client.go
"""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

import msgspec

from stowplan.api.resource_versions import RESOURCE_GROUP, RESOURCE_VERSIONS
from stowplan.cluster.client import Client
from stowplan.cluster.connection import Connection
from stowplan.cluster.errors import ApiError, ClusterError
from stowplan.config.feature_gates import DYNAMIC_RESOURCES
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


class ServerFacts(NamedTuple):
    """Facts about an API server that decide how a scheduler for its cluster is built."""

    release: Release
    resource_api: str
    """The version of resource.k8s.io to use; empty if the server does not serve the group."""

    def effective_release(self) -> Release:
        """The release, with claims served if the server has them: an operator of v1.33 has to enable both."""
        return self.release.with_gates({DYNAMIC_RESOURCES: True}) if self.resource_api else self.release


async def read_server(client: Client) -> ServerFacts:
    """The facts about the API server. Raises ClusterError."""
    release = await read_release(client)
    try:
        served = await served_versions(client, RESOURCE_GROUP)
    except ApiError as refusal:
        if refusal.status != 403:
            raise
        served = RESOURCE_VERSIONS if release.has(DYNAMIC_RESOURCES) else ()
    return ServerFacts(release, next((version for version in RESOURCE_VERSIONS if version in served), ""))


def server_release(connection: Connection) -> Release | None:
    """The effective release of the API server; None if the server does not answer in time or does not say."""

    async def read() -> Release | None:
        client = Client(connection)
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                return (await read_server(client)).effective_release()
        except (ClusterError, TimeoutError):
            return None
        finally:
            await client.close()

    return asyncio.run(read())
