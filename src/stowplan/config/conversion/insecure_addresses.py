"""Addresses of health and metrics pages without TLS, in earlier versions."""

import ipaddress
from typing import NamedTuple

INSECURE_PORT = 10251
ANYWHERE = "0.0.0.0"
LOOPBACK = "127.0.0.1"


class InsecureAddress(NamedTuple):
    """An address without TLS. Earlier releases listened on all addresses by default; since these pages have no
    authentication, the default here is loopback, which suffices for probes of static pods."""

    host: str = LOOPBACK
    port: int = INSECURE_PORT

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class InsecureServing(NamedTuple):
    """Addresses of /healthz and /metrics over plain HTTP; None disables a page."""

    healthz: InsecureAddress | None = None
    metrics: InsecureAddress | None = None
    explicit: bool = False
    """Whether the address was configured, rather than the version's default."""


def parse_address(text: str) -> InsecureAddress | None:
    """Parse `host:port`, `:port` or an IP address; port 0 gives None. Raises ValueError."""
    host, separator, port = text.rpartition(":")
    if not separator or _is_ip(text):
        host, port = text, str(INSECURE_PORT)
    host = host.removeprefix("[").removesuffix("]") or ANYWHERE
    if not _is_ip(host) or not port.isdecimal() or int(port) > 65535:
        raise ValueError("must be an IP address and a port, such as 127.0.0.1:10251")
    return InsecureAddress(host, int(port)) if int(port) else None


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
