"""One request on its way through the handlers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from itertools import compress
from typing import Any

from stowplan.extender.handlers.exclusive import OutOfTimeError
from stowplan.extender.handlers.reply import CallFacts, Verb
from stowplan.extender.wire.node_lists import RawNode
from stowplan.extender.wire.server_replies import Mode
from stowplan.extender.wire.server_requests import FilterRequest


class VerbCall:
    """A request, what is known of it so far, and until when it can be answered. `clock` is a monotonic one."""

    __slots__ = ("body", "clock", "deadline", "facts", "request")

    def __init__(self, verb: Verb, body: bytes | bytearray, deadline: float | None, clock: Callable[[], float]) -> None:
        self.body = body
        self.deadline = deadline
        self.clock = clock
        self.facts = CallFacts(verb)
        self.request: Any = None
        """What was read, for a fallback to be made of."""

    def pause(self) -> None:
        """Give up where the answer would come too late."""
        if self.deadline is not None and self.clock() >= self.deadline:
            raise OutOfTimeError("plugins take too long")

    def twin(self) -> VerbCall:
        """The same as it stands, for a fallback to be told of while the work still goes on."""
        twin = VerbCall(self.facts.verb, self.body, self.deadline, self.clock)
        twin.request = self.request
        twin.facts = copy(self.facts)
        return twin

    def about(self, namespace: str, name: str, uid: str) -> None:
        self.facts.pod = f"{namespace}/{name}"
        self.facts.pod_uid = uid


class NodeQuestion:
    """A filter or prioritize request."""

    __slots__ = ("names", "raw_nodes", "request")

    def __init__(self, request: FilterRequest) -> None:
        self.request = request
        self.names: Sequence[str] = request.names
        self.raw_nodes: list[RawNode] | None = request.nodes

    def drop_repeats(self) -> None:
        """Leave each node in once, where it comes first."""
        if len(set(self.names)) == len(self.names):
            return
        first = {name: position for position, name in reversed(list(enumerate(self.names)))}
        positions = sorted(first.values())
        self.names = [self.names[position] for position in positions]
        if self.raw_nodes is not None:
            self.raw_nodes = [self.raw_nodes[position] for position in positions]

    @property
    def mode(self) -> Mode:
        return "names" if self.raw_nodes is None else "nodes"

    def passing(self, chosen: Sequence[bool]) -> list[str] | list[bytes]:
        """The nodes that are chosen, in the form in which they came."""
        if self.raw_nodes is not None:
            return [node.raw for node in compress(self.raw_nodes, chosen)]
        return list(compress(self.names, chosen))
