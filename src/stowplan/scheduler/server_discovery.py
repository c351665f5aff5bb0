"""Waiting for the API server of a scheduler, until it reports its release.

Upstream: k8s.io/client-go/discovery/discovery_client.go
"""

from __future__ import annotations

import asyncio
import random
import time

from stowplan import logs
from stowplan.api.resource_versions import RESOURCE_VERSIONS
from stowplan.cluster.client import Client
from stowplan.cluster.connection import Connection
from stowplan.cluster.discovery import ServerFacts, read_server
from stowplan.cluster.errors import ApiError, ClusterError, CredentialsError, UntrustedServerError
from stowplan.cluster.retry import RetryBackoff
from stowplan.config.releases import LATEST
from stowplan.errors import ConfigError

_TIMEOUT_SECONDS = 5.0

log = logs.get(__name__)


async def find_server(connection: Connection) -> ServerFacts | None:
    """The server, or None if it does not answer yet, which is logged. Raises errors that retrying does not fix."""
    client = Client(connection)
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            return await read_server(client)
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


async def wait_for_server(connection: Connection) -> ServerFacts:
    """The server, as soon as it answers."""
    backoff = RetryBackoff(time.monotonic, random.Random())
    while True:
        await asyncio.sleep(backoff.next())
        found = await find_server(connection)
        if found is not None:
            return found
