"""Requests and replies of the extender protocol, reduced to the fields that scheduling reads."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from stowplan.api import Node, Pod
from stowplan.api.sanitization import Rule, Sanitizer, each, entries, members, number, text
from stowplan.extender.wire.keys import fold


class MessageSanitizer:
    """Sanitizes the messages of all verbs. Keys of the protocol's own objects may have any case."""

    def __init__(self, keep_annotations: Collection[str] = ()) -> None:
        objects = Sanitizer(keep_annotations)
        self._node = objects.rule(Node)
        self._message = _message(objects.rule(Pod), self._node)
        self._priorities = each(members({"host": text, "score": number}, fold))

    def message(self, body: bytes | bytearray) -> Any:
        """A parsed request or reply. Raises msgspec.DecodeError or RecursionError for a body that is not JSON."""
        value = msgspec.json.decode(body)
        return self._priorities(value) if isinstance(value, list) else self._message(value)

    def node(self, node: Node) -> Any:
        return self._node(msgspec.to_builtins(node))


def _message(pod: Rule, node: Rule) -> Rule:
    """The members of all requests and replies together; a key has the same type in each."""
    reasons = entries(text)
    return members(
        {
            "pod": pod,
            "nodes": members({"items": each(node)}, fold),
            "nodenames": each(text),
            "nodenametovictims": entries(_victims(pod)),
            "nodenametometavictims": entries(_victims(members({"uid": text}, fold))),
            "podname": text,
            "podnamespace": text,
            "poduid": text,
            "node": text,
            "failednodes": reasons,
            "failedandunresolvablenodes": reasons,
            "error": text,
        },
        fold,
    )


def _victims(pod: Rule) -> Rule:
    return members({"pods": each(pod), "numpdbviolations": number}, fold)
