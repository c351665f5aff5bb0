"""The API server of a scheduler: its release, and the version of resource.k8s.io that it serves.

Upstream: k8s.io/client-go/discovery/discovery_client.go
"""

from __future__ import annotations

import asyncio
import random
import time
from typing import NamedTuple

from stowplan import logs
from stowplan.api.resource_versions import RESOURCE_GROUP, RESOURCE_VERSIONS
from stowplan.cluster.client import Client
from stowplan.cluster.connection import Connection
from stowplan.cluster.discovery import read_release, served_versions
from stowplan.cluster.errors import ApiError, ClusterError, CredentialsError, UntrustedServerError
from stowplan.cluster.retry import RetryBackoff
from stowplan.config.feature_gates import DYNAMIC_RESOURCES
from stowplan.config.releases import LATEST, Release
from stowplan.errors import ConfigError

_TIMEOUT_SECONDS = 5.0

log = logs.get(__name__)


class ServerFacts(NamedTuple):
    """Facts about an API server that decide how the scheduler is built."""

    release: Release
    resource_api: str
    """The version of resource.k8s.io to use; empty if the server does not serve the group."""

    def effective_release(self) -> Release:
        """The release, with claims served if the server has them: an operator of v1.33 has to enable both."""
        return self.release.with_gates({DYNAMIC_RESOURCES: True}) if self.resource_api else self.release


async def find_server(connection: Connection) -> ServerFacts | None:
    """The server, or None if it does not answer yet, which is logged. Raises errors that retrying does not fix."""
    client = Client(connection)
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            return await _read_server(client)
    except (UntrustedServerError, CredentialsError):
        raise
    except ApiError as refusal:
        if refusal.status == 401:
            raise ConfigError(f"{connection.url}: the credentials are refused: {refusal.message}") from refusal
        if refusal.status == 429 or refusal.status >= 500:
            log.warning("The API server does not answer yet", server=connection.url, err=refusal.message)
            return None
        log.warning("The API server does not report its version", server=connection.url, err=refusal.message)
        return ServerFacts(LATEST, RESOURCE_VERSIONS[0])
    except (ClusterError, TimeoutError) as problem:
        why = str(problem) or "no reply in time"
        log.warning("The API server does not answer yet", server=connection.url, err=why)
        return None
    finally:
        await client.close()


async def _read_server(client: Client) -> ServerFacts:
    release = await read_release(client)
    try:
        served = await served_versions(client, RESOURCE_GROUP)
    except ApiError as refusal:
        if refusal.status != 403:
            raise
        served = RESOURCE_VERSIONS if release.has(DYNAMIC_RESOURCES) else ()
    return ServerFacts(release, next((version for version in RESOURCE_VERSIONS if version in served), ""))


async def wait_for_server(connection: Connection) -> ServerFacts:
    """The server, as soon as it answers."""
    backoff = RetryBackoff(time.monotonic, random.Random())
    while True:
        await asyncio.sleep(backoff.next())
        found = await find_server(connection)
        if found is not None:
            return found
