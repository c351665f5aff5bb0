"""The static files of the page, package data of this room."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

from stowplan.serving.pages import Page, PageRequest, Pages, status_page
from stowplan.web.access import SECURITY_HEADERS

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "ico": "image/x-icon",
}
_TEXT = "text/plain; charset=utf-8"
_COMPRESSED_TYPES = ("text/", "image/svg")


class Asset(NamedTuple):
    """A file in both encodings."""

    content_type: str
    content: bytes
    compressed: bytes
    etag: str


def read_assets(data_address: str = "") -> dict[str, Asset]:
    """All static files by their path below `static`. `data_address` is that of the page's data, if it is not at
    `api/v1/` below the page."""
    content = {path: file.read_bytes() for path, file in _files(files("stowplan.web") / "static", "")}
    if data_address:
        attribute = f'<html data-api="{data_address}"'.encode()
        content["index.html"] = content["index.html"].replace(b"<html", attribute, 1)
    return {path: _asset(path, each) for path, each in content.items()}


def add_asset_pages(pages: Pages, assets: dict[str, Asset], prefix: str = "/") -> None:
    """Serves index.html at the prefix, and the other files below `static/`."""

    def serve(request: PageRequest) -> Page:
        path = request.path.removeprefix(prefix)
        found = assets.get("index.html" if not path else path.removeprefix("static/"))
        if found is None or (path and not path.startswith("static/")):
            return pages.not_found(request)
        return _page(request, found)

    pages.add(prefix, serve)


def _page(request: PageRequest, asset: Asset) -> Page:
    if request.method not in ("GET", "HEAD"):
        return status_page(405, "MethodNotAllowed", "the method is not allowed; use GET")
    headers = {**SECURITY_HEADERS, "ETag": asset.etag, "Vary": "Accept-Encoding"}
    if request.headers.get("If-None-Match", "") == asset.etag:
        return Page(304, b"", asset.content_type, headers)
    if asset.compressed and "gzip" in request.headers.get("Accept-Encoding", ""):
        return Page(200, asset.compressed, asset.content_type, {**headers, "Content-Encoding": "gzip"})
    return Page(200, asset.content, asset.content_type, headers)


def _asset(path: str, content: bytes) -> Asset:
    content_type = _TYPES.get(path.rpartition(".")[2], _TEXT)
    compressed = gzip.compress(content, 9, mtime=0) if content_type.startswith(_COMPRESSED_TYPES) else b""
    return Asset(content_type, content, compressed, f'"{hashlib.blake2b(content, digest_size=12).hexdigest()}"')


def _files(folder: Traversable, prefix: str) -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _files(entry, f"{prefix}{entry.name}/")
        else:
            yield f"{prefix}{entry.name}", entry
