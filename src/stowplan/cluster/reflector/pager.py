"""Lists a kind in pages.

Upstream: k8s.io/client-go/tools/pager/pager.go
"""

import asyncio
from collections.abc import AsyncGenerator, Callable

from stowplan.api.kinds import Kind
from stowplan.cluster.client import Client
from stowplan.cluster.errors import ApiError
from stowplan.cluster.reflector.watch_frames import Item, ListMeta
from stowplan.cluster.wire import collection_path

PAGE_SIZE = 500


def is_expired(error: ApiError) -> bool:
    """Whether the server no longer has the resourceVersion or the continue token of a request."""
    return error.status == 410 or error.reason in ("Expired", "Gone")


async def list_pages(
    client: Client,
    kind: Kind,
    decode: Callable[[bytes, bool], tuple[ListMeta, list[Item]]],
    *,
    field_selector: str = "",
    page: int = PAGE_SIZE,
) -> AsyncGenerator[tuple[str, bool, list[Item]], None]:
    """All objects of a kind: for each page the list's resourceVersion, whether a list starts here, and the objects.
    `decode` takes a page and whether a list starts with it.

    If the continue token expires, the list starts again, in one page. No resourceVersion is requested, so the server
    returns the latest: a relist does not go back behind the watch, and a starting scheduler does not see nodes emptier
    than they are. Version 0 would permit any age.
    """
    params = {"limit": str(page)} | ({"fieldSelector": field_selector} if field_selector else {})
    path, token = collection_path(kind), ""
    reply = asyncio.ensure_future(client.get(path, params))
    try:
        while True:
            try:
                meta, items = decode(await reply, not token)
            except ApiError as error:
                if not token or not is_expired(error):
                    raise
                del params["limit"]
                token = ""
                reply = asyncio.ensure_future(client.get(path, params))
                continue
            starts, token = not token, meta.continue_
            if token:
                # The server prepares the next page while this one is handled.
                reply = asyncio.ensure_future(client.get(path, params | {"continue": token}))
                await asyncio.sleep(0)
            yield meta.resource_version, starts, items
            if not token:
                return
    finally:
        reply.cancel()
