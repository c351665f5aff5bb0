"""The addresses at which schedulers once served health and metrics without TLS."""

import ipaddress
from typing import NamedTuple

INSECURE_PORT = 10251
ANYWHERE = "0.0.0.0"
LOOPBACK = "127.0.0.1"


class InsecureAddress(NamedTuple):
    """Where to listen. Schedulers of those days did so on all addresses unless told otherwise; as nobody has to say who
    they are there, we do on loopback, which is enough for the probes of static pods."""

    host: str = LOOPBACK
    port: int = INSECURE_PORT

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class InsecureServing(NamedTuple):
    """Where /healthz and /metrics are wanted over plain HTTP; None for nowhere."""

    healthz: InsecureAddress | None = None
    metrics: InsecureAddress | None = None
    asked: bool = False
    """Whether somebody asked for it in so many words: otherwise it is the era's default."""


def parse_address(text: str) -> InsecureAddress | None:
    """Read `host:port`, `:port` or a bare IP address; port 0 is None. Raises ValueError for anything else."""
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
