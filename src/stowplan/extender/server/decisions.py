"""Recent decisions by pod, and all decisions as lines in a file."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from stowplan.extender.server.line_file import LineFile
from stowplan.extender.server.request_handling import HttpExchange
from stowplan.framework import DecisionRecord

MAX_NODES = 200_000
"""Maximum number of nodes in all kept decisions together."""


class DecisionEntry:
    """One decision; its record is built on demand."""

    __slots__ = ("at", "decide", "nodes", "pod", "seconds", "status", "uid", "verb")

    def __init__(self, exchange: HttpExchange, at: float) -> None:
        facts = exchange.reply.facts
        self.at = at
        self.verb = exchange.verb
        self.uid = facts.pod_uid
        self.pod = facts.pod
        self.nodes = facts.nodes_in
        self.status = exchange.reply.status
        self.seconds = exchange.seconds
        self.decide: Callable[[], DecisionRecord] = exchange.reply.decision

    def as_json(self) -> dict[str, Any]:
        """The entry as JSON."""
        return {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(self.at)) + f".{int(self.at % 1 * 1000):03}Z",
            "verb": self.verb,
            "status": self.status,
            "seconds": round(self.seconds, 6),
            "decision": msgspec.to_builtins(self.decide()),
        }


class DecisionLog:
    """The last `size` decisions, or fewer if they have more than MAX_NODES nodes. With a file, every decision is also
    written to it."""

    def __init__(self, size: int = 256, file: LineFile | None = None, clock: Callable[[], float] = time.time) -> None:
        self._entries: deque[DecisionEntry] = deque()
        self._size = size
        self._nodes = 0
        self._file = file
        self._clock = clock

    def note(self, exchange: HttpExchange) -> None:
        entry = DecisionEntry(exchange, self._clock())
        self._keep(entry)
        if self._file is not None:
            self._file.put(lambda: (msgspec.json.encode(entry.as_json()),))

    def _keep(self, entry: DecisionEntry) -> None:
        self._entries.append(entry)
        self._nodes += entry.nodes
        while len(self._entries) > self._size or (self._nodes > MAX_NODES and len(self._entries) > 1):
            self._nodes -= self._entries.popleft().nodes

    def find(self, uid: str = "", limit: int = 0) -> Iterator[DecisionEntry]:
        """Decisions about a pod, or all, the latest first."""
        count = 0
        for entry in reversed(list(self._entries)):
            if not uid or uid in (entry.uid, entry.pod):
                yield entry
                count += 1
                if count == limit:
                    return
