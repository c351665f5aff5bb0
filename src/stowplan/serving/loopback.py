"""Protection of loopback ports against DNS rebinding.

A web page can make a browser send requests to 127.0.0.1 under the page's own host name, and read the responses. Such
requests name a foreign host in `Host` or `Origin`. A server that listens on a loopback address is called by an address
or as localhost, so it refuses any other name that is not allowed.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Collection
from urllib.parse import urlsplit

MISDIRECTED = 421


def is_loopback(listener: socket.socket) -> bool:
    """Whether only clients on this machine reach the socket."""
    try:
        return ipaddress.ip_address(listener.getsockname()[0]).is_loopback
    except (ValueError, IndexError):
        return False


def foreign_host(host: str, origin: str, allowed: Collection[str] = ()) -> str | None:
    """Why a request to a loopback port is refused; None for requests from this machine, which may lack both headers.

    `allowed` are other names of this machine, in lower case.
    """
    if host and not _is_local(f"//{host}", allowed):
        return f"this port serves localhost, not {host[:100]!r} (Host)"
    if origin and not _is_local(origin, allowed):
        return f"this port serves localhost, not pages of {origin[:100]!r} (Origin)"
    return None


def _is_local(url: str, allowed: Collection[str]) -> bool:
    try:
        name = (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return False
    if name == "localhost" or name.endswith(".localhost") or name in allowed:
        return True
    try:
        return ipaddress.ip_address(name.partition("%")[0]).is_loopback
    except ValueError:
        return False
