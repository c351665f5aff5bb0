"""The open connections of a listening socket, and which of them are closed for a new one at the maximum.

Whoever reaches the port can open as many connections as are accepted. So that other clients are still served, the
connections of addresses that hold more than their share are closed first, then those that have not proven their access
by a complete request, then idle ones, the oldest first. A connection that is being answered is closed only if its
address holds more than its share, and only for a connection of another address.
"""

from __future__ import annotations

import ipaddress
import socket
from collections import Counter
from collections.abc import Iterator
from enum import IntEnum
from heapq import nsmallest
from typing import Generic, Protocol, TypeVar

_SMALLEST_SHARE = 8
"""However many addresses are connected, each may hold this fraction of the maximum before it is over its share."""
_IPV6_NETWORK_BITS = 64
"""One client has a whole network of addresses of this prefix length."""


class ConnectionStanding(IntEnum):
    """What would be lost with a connection; the least is closed first."""

    UNPROVEN = 0
    """No request of a client with access has been answered on it."""
    IDLE = 1
    RECEIVING = 2
    """A later request, or the response to it, is on its way."""
    ANSWERING = 3


class ClosableConnection(Protocol):
    """A connection that may be closed for another."""

    @property
    def peer(self) -> str:
        """`peer_of` its socket."""

    @property
    def standing(self) -> ConnectionStanding: ...

    @property
    def waiting_since(self) -> float:
        """Since when it has this standing."""

    def abort(self) -> None:
        """Close the socket without waiting for the client."""


ConnectionT = TypeVar("ConnectionT", bound=ClosableConnection)


class OpenConnections(Generic[ConnectionT]):
    """Up to a maximum number, if `make_room` is called before each `add`."""

    def __init__(self, max_connections: int) -> None:
        self._max = max_connections
        self._open: set[ConnectionT] = set()

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[ConnectionT]:
        return iter(tuple(self._open))

    @property
    def full(self) -> bool:
        return len(self._open) >= self._max

    def add(self, connection: ConnectionT) -> None:
        self._open.add(connection)

    def discard(self, connection: ConnectionT) -> None:
        self._open.discard(connection)

    def make_room_for(self, peer: str) -> bool:
        """Close one connection. False if none may be closed for a connection of this peer."""
        return self._close(1, peer)

    def free_files(self) -> bool:
        """Close a quarter of the connections, since the process may not open another file."""
        return self._close(1 + len(self._open) // 4, "")

    def _close(self, count: int, newcomer: str) -> bool:
        held = Counter(connection.peer for connection in self._open)
        share = max(self._max // len({*held, newcomer}), self._max // _SMALLEST_SHARE, 1)
        entries: list[tuple[bool, ConnectionStanding, float, ConnectionT]] = []
        for connection in self._open:
            within_share, standing = held[connection.peer] <= share, connection.standing
            if standing is not ConnectionStanding.ANSWERING or not (within_share or connection.peer == newcomer):
                entries.append((within_share, standing, connection.waiting_since, connection))
        for *_, connection in nsmallest(count, entries, key=lambda entry: entry[:3]):
            self._open.discard(connection)
            connection.abort()
        return bool(entries)


def peer_of(accepted: socket.socket) -> str:
    """The client of a connection: an IPv4 address or an IPv6 network; "" if it has gone."""
    try:
        address = ipaddress.ip_address(str(accepted.getpeername()[0]).partition("%")[0])
    except (OSError, ValueError, IndexError):
        return ""
    if address.version == 4:
        return str(address)
    mapped = address.ipv4_mapped
    return str(mapped or ipaddress.ip_network((address, _IPV6_NETWORK_BITS), strict=False))
