"""Listening sockets."""

from __future__ import annotations

import ipaddress
import socket

from stowplan.config.options import ServingOptions
from stowplan.errors import ConfigError, os_error_text

_BACKLOG = 4096
"""Connections that wait to be accepted, at most as many as the system allows (somaxconn); Go's default."""


def listen(options: ServingOptions) -> socket.socket:
    """Listen on the address and port of the options. Raises ConfigError if that fails.

    An unspecified address means all interfaces of both address families that the machine supports.
    """
    address = ipaddress.ip_address(options.address)
    try:
        if address.is_unspecified and socket.has_dualstack_ipv6():
            return _open("::", options, socket.AF_INET6, both=True)
        family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
        return _open(str(address), options, family, both=False)
    except OSError as error:
        where = f"[{address}]:{options.port}" if address.version == 6 else f"{address}:{options.port}"
        reason = os_error_text(error).lower()
        raise ConfigError(f"failed to create listener: failed to listen on {where}: {reason}") from error


def _open(address: str, options: ServingOptions, family: int, *, both: bool) -> socket.socket:
    return socket.create_server(
        (address, options.port), family=family, dualstack_ipv6=both, reuse_port=options.share_port, backlog=_BACKLOG
    )
