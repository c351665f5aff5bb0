"""The requests that wait to be sent."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from stowplan.cluster.write_client.write_request import WriteRequest


class RequestQueue:
    """Two lanes, served in turn: requests that finish something do not wait until all that begin something are sent.

    A pod with claims takes writes before its binding. Were there one lane, the first of a thousand such pods would be
    bound only after the first write of the last.
    """

    __slots__ = ("_beginning", "_finish_next", "_finishing")

    def __init__(self) -> None:
        self._beginning: deque[WriteRequest] = deque()
        self._finishing: deque[WriteRequest] = deque()
        self._finish_next = True

    def __len__(self) -> int:
        return len(self._beginning) + len(self._finishing)

    def append(self, exchange: WriteRequest) -> None:
        (self._finishing if exchange.finishes else self._beginning).append(exchange)

    def put_back(self, exchanges: Iterable[WriteRequest]) -> None:
        """These were sent before, or were to be, so they come first."""
        for exchange in exchanges:
            (self._finishing if exchange.finishes else self._beginning).appendleft(exchange)

    def pop(self) -> WriteRequest:
        """The next one. Raises IndexError if there is none."""
        if self._finishing and (self._finish_next or not self._beginning):
            self._finish_next = False
            return self._finishing.popleft()
        self._finish_next = True
        return self._beginning.popleft()
