"""Which connections are closed for a new one."""

from __future__ import annotations

import socket
from contextlib import closing
from dataclasses import dataclass

import pytest

from stowplan.serving.open_connections import ConnectionStanding, OpenConnections, peer_of

UNPROVEN, IDLE, RECEIVING, ANSWERING = ConnectionStanding


@dataclass(eq=False)
class Connection:
    peer: str
    standing: ConnectionStanding = UNPROVEN
    waiting_since: float = 0.0
    aborted: bool = False

    def abort(self) -> None:
        self.aborted = True


def closed(max_connections: int, connections: list[Connection], newcomer: str) -> list[int]:
    """The positions of the connections that are closed for one of the newcomer."""
    held: OpenConnections[Connection] = OpenConnections(max_connections)
    for connection in connections:
        held.add(connection)
    has_room = held.make_room_for(newcomer)
    found = [position for position, connection in enumerate(connections) if connection.aborted]
    assert has_room == bool(found) == (len(held) < len(connections))
    return found


@pytest.mark.parametrize(
    ("connections", "newcomer", "expected"),
    [
        ([("a", UNPROVEN, 2), ("a", UNPROVEN, 1), ("a", UNPROVEN, 3)], "a", [1]),
        ([("a", IDLE, 1), ("a", RECEIVING, 1), ("a", UNPROVEN, 3)], "a", [2]),
        ([("a", RECEIVING, 1), ("a", IDLE, 2), ("a", IDLE, 3)], "a", [1]),
        ([("a", RECEIVING, 1), ("a", ANSWERING, 0)], "a", [0]),
        ([("a", ANSWERING, 1), ("a", ANSWERING, 2)], "a", []),
        ([("a", ANSWERING, 1), ("b", ANSWERING, 2)], "c", []),
        ([("a", ANSWERING, 2), ("a", ANSWERING, 1)], "b", [1]),
        ([("a", IDLE, 9), ("a", IDLE, 8), ("a", IDLE, 7), ("b", UNPROVEN, 1)], "c", [2]),
        ([("a", IDLE, 9), ("a", IDLE, 8), ("a", IDLE, 7), ("b", UNPROVEN, 1)], "a", [2]),
        ([("a", IDLE, 9), ("a", IDLE, 8), ("b", IDLE, 7), ("b", UNPROVEN, 1)], "a", [3]),
    ],
)
def test_who_is_closed(
    connections: list[tuple[str, ConnectionStanding, float]], newcomer: str, expected: list[int]
) -> None:
    assert closed(len(connections), [Connection(*entry) for entry in connections], newcomer) == expected


def test_many_addresses_do_not_shrink_the_share_to_nothing() -> None:
    scheduler = [Connection("a", IDLE) for _ in range(3)]
    assert closed(80, scheduler + [Connection(f"b{number}", waiting_since=number) for number in range(77)], "c") == [3]


def test_several_are_closed_where_files_run_out() -> None:
    held: OpenConnections[Connection] = OpenConnections(100)
    connections = [Connection("a", waiting_since=number) for number in range(8)]
    for connection in connections:
        held.add(connection)
    assert held.free_files()
    assert [connection.aborted for connection in connections] == [True] * 3 + [False] * 5
    assert len(held) == 5


class FakeSocket(socket.socket):
    address = ""

    def getpeername(self) -> tuple[str, int]:
        if not self.address:
            raise OSError
        return self.address, 1


@pytest.mark.parametrize(
    ("address", "peer"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:db8::1:2:3", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("/run/socket", ""),
    ],
)
def test_peers(address: str, peer: str) -> None:
    with closing(FakeSocket()) as accepted:
        accepted.address = address
        assert peer_of(accepted) == peer
