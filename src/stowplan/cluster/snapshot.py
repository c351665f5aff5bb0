"""Snapshot of a cluster: all objects of some kinds, listed once. Only GET requests are sent."""

import asyncio
from collections.abc import Callable, Collection, Iterable
from contextlib import aclosing
from typing import Any, NamedTuple

from stowplan.api import codec
from stowplan.api.kinds import Kind
from stowplan.api.resource_versions import RESOURCE_GROUP, RESOURCE_VERSIONS, kind_at
from stowplan.cluster.client import Client
from stowplan.cluster.connection import Connection
from stowplan.cluster.discovery import served_versions
from stowplan.cluster.errors import ApiError, ClusterError
from stowplan.cluster.reflector import UNFINISHED_PODS
from stowplan.cluster.reflector.pager import list_pages
from stowplan.cluster.reflector.watch_frames import Decoder, MalformedReplyError

Item = tuple[Any, dict[str, Any] | None]
"""An object as its kind's struct, and as plain data if requested."""

_SELECTORS = {"Pod": UNFINISHED_PODS}


class Snapshot(NamedTuple):
    """The objects, and the kinds that cannot be read."""

    items: list[Item]
    missing: list[Kind]
    """Kinds that the server does not serve."""
    forbidden: list[Kind]
    """Kinds that the user may not read."""


def take_snapshot(
    connection: Connection,
    kinds: Iterable[Kind],
    *,
    required: Collection[str] = (),
    keep_objects: bool = False,
    on_progress: Callable[[int], None] = lambda count: None,
) -> Snapshot:
    """List these kinds; of pods only unfinished ones. `on_progress` is called with the number of objects so far.

    Kinds that cannot be read are left out, unless they are `required`. Raises ClusterError with one line.
    """
    return asyncio.run(_take(connection, kinds, required, keep_objects, on_progress))


async def _take(
    connection: Connection,
    kinds: Iterable[Kind],
    required: Collection[str],
    keep_objects: bool,
    on_progress: Callable[[int], None],
) -> Snapshot:
    snapshot = Snapshot([], [], [])
    left_out = {404: snapshot.missing, 403: snapshot.forbidden}
    client = Client(connection)
    try:
        for kind in kinds:
            try:
                await _list(client, await _served(client, kind), keep_objects, snapshot.items, on_progress)
            except ApiError as error:
                if kind.name in required or error.status not in left_out:
                    raise _problem(connection, kind, error, kind.name in required) from error
                left_out[404 if kind.custom and await _is_unserved(client, kind) else error.status].append(kind)
            except MalformedReplyError as error:
                raise ClusterError(f"{connection.url}: {error}") from error
    finally:
        await client.close()
    return snapshot


async def _is_unserved(client: Client, kind: Kind) -> bool:
    """Whether discovery does not list the kind's version: the server checks permissions before it looks for a
    resource."""
    group, _, version = kind.api_version.rpartition("/")
    try:
        return version not in await served_versions(client, group)
    except ClusterError:
        return False


async def _served(client: Client, kind: Kind) -> Kind:
    """The kind in the version that the server serves, for the group that older servers have in other versions."""
    if not kind.api_version.startswith(f"{RESOURCE_GROUP}/"):
        return kind
    try:
        served = await served_versions(client, RESOURCE_GROUP)
    except ClusterError:
        return kind
    return kind_at(kind, next((version for version in RESOURCE_VERSIONS if version in served), RESOURCE_VERSIONS[0]))


async def _list(
    client: Client, kind: Kind, keep_objects: bool, found: list[Item], on_progress: Callable[[int], None]
) -> None:
    """Append all objects of a kind to `found`."""
    before = len(found)
    decoder = Decoder(kind, keep_objects=keep_objects)
    pages = list_pages(
        client, kind, lambda body, starts: decoder.page(body), field_selector=_SELECTORS.get(kind.name, "")
    )
    async with aclosing(pages):
        async for _, starts, items in pages:
            if starts:
                del found[before:]
            found += [(item, None if whole is None else codec.whole(whole)) for item, whole in items]
            on_progress(len(found))


def _problem(connection: Connection, kind: Kind, error: ApiError, required: bool) -> ClusterError:
    text = " ".join(str(error).split())
    if error.status == 401:
        return ClusterError(f"{connection.url}: the server refuses the credentials: {text}")
    vital = ", and they are required" if required and error.status in (403, 404) else ""
    return ClusterError(f"{connection.url}: {kind.resource} cannot be read{vital}: {text}")
