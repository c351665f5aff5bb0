"""Protection of loopback ports against DNS rebinding.

A web page can make a browser send requests to 127.0.0.1 under the page's own host name, and read the responses. Such
requests name a foreign host in `Host` or `Origin`. On a loopback address a server is called by that address or as
localhost, so it refuses any other name that is not allowed. The address at which the connection arrived decides, since
a server that listens on all addresses is reached at loopback too.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Sequence
from typing import Any
from urllib.parse import urlsplit

MISDIRECTED = 421


def is_loopback(local_address: Any) -> bool:
    """Whether a connection with this address of its own (getsockname) comes from this machine."""
    return isinstance(local_address, Sequence) and len(local_address) > 1 and _is_loopback(str(local_address[0]))


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
    return _is_loopback(name)


def _is_loopback(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback
