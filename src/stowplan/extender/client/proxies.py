"""Which proxy leads to an address, by the environment, as Go's HTTP client reads it.

Upstream: golang.org/x/net/http/httpproxy
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

_PORTS = {"http": 80, "https": 443}


def proxy_for(url: str, env: Mapping[str, str]) -> str | None:
    """The URL of the proxy. Loopback addresses and hosts in NO_PROXY are reached without one."""
    parts = urlsplit(url)
    proxy = _setting(f"{parts.scheme}_proxy", env)
    host = (parts.hostname or "").rstrip(".")
    if not proxy or host == "localhost" or _is_loopback(host):
        return None
    port = parts.port or _PORTS.get(parts.scheme, 0)
    if any(_matches(entry.strip().lower(), host, port) for entry in _setting("no_proxy", env).split(",")):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _setting(name: str, env: Mapping[str, str]) -> str:
    return env.get(name.upper()) or env.get(name) or ""


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _matches(entry: str, host: str, port: int) -> bool:
    """An entry of NO_PROXY: `*`, an address, a range of them, or a domain with all below it; each but the range may
    have a port."""
    if not entry:
        return False
    if entry == "*":
        return True
    if "/" in entry:
        return _in_range(entry, host)
    name, colon, number = entry.rpartition(":")
    if colon and number.isdigit() and name.count(":") != 1:
        if int(number) != port:
            return False
        entry = name
    entry = entry.strip("[]").removeprefix("*")
    if entry.startswith("."):
        return host.endswith(entry)
    return host == entry or host.endswith(f".{entry}")


def _in_range(entry: str, host: str) -> bool:
    try:
        return ip_address(host) in ip_network(entry, strict=False)
    except ValueError:
        return False
