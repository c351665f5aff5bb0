"""Listing a kind, page by page."""

import asyncio
from collections.abc import AsyncGenerator

from stowplan.api.kinds import Kind
from stowplan.cluster.client import Client
from stowplan.cluster.errors import ApiError
from stowplan.cluster.reflector.watch_frames import Decoder, Item
from stowplan.cluster.wire import collection_path

PAGE = 500


def is_expired(error: ApiError) -> bool:
    """Whether what a request referred to, a resourceVersion or the next page, is no longer kept by the server."""
    return error.status == 410 or error.reason in ("Expired", "Gone")


async def list_pages(
    client: Client, kind: Kind, decoder: Decoder, *, field_selector: str = "", page: int = PAGE
) -> AsyncGenerator[tuple[str, bool, list[Item]], None]:
    """All objects of a kind: for each page the list's resourceVersion, whether the list starts here, and the objects.

    A list starts anew, and then in one piece, if its snapshot expires between two pages. No resourceVersion is asked
    for: the server then answers with the latest, which keeps a relist from going back in time behind what a watch has
    told, and a scheduler that starts from seeing nodes emptier than they are. Version 0 would allow for any age.
    """
    params = {"limit": str(page)} | ({"fieldSelector": field_selector} if field_selector else {})
    path, token = collection_path(kind), ""
    reply = asyncio.ensure_future(client.get(path, params))
    try:
        while True:
            try:
                meta, items = decoder.page(await reply)
            except ApiError as error:
                if not token or not is_expired(error):
                    raise
                del params["limit"]
                token = ""
                reply = asyncio.ensure_future(client.get(path, params))
                continue
            starts, token = not token, meta.continue_
            if token:
                # The server makes the next page while this one is taken in.
                reply = asyncio.ensure_future(client.get(path, params | {"continue": token}))
                await asyncio.sleep(0)
            yield meta.resource_version, starts, items
            if not token:
                return
    finally:
        reply.cancel()
