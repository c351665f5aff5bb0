"""Replays recorded requests and reports the differences between replies."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from stowplan.cache import Cluster
from stowplan.errors import InputError
from stowplan.extender.handlers import GroupMember, Handlers, Verb, VerbReply
from stowplan.extender.policy import OperatorPolicy
from stowplan.extender.server.recording import Recorded, read_recording
from stowplan.framework import Pod

_MAX_NAMED_NODES = 10


class Replayed(NamedTuple):
    """A replayed request."""

    title: str
    differences: tuple[str, ...]


class _Nodes:
    """The nodes of a recording, in place of an informer cache."""

    has_synced = True

    def __init__(self, keep_objects: bool) -> None:
        self.cluster = Cluster(keep_objects=keep_objects)

    def pending_pod(self, uid: str) -> Pod | None:
        return None


def replayed(
    lines: Iterable[bytes], source: str, members: Sequence[GroupMember], policy: OperatorPolicy | None = None
) -> Iterator[Replayed]:
    """Each request of a recording with the differences of its reply. Bind requests are skipped.

    Nodes precede the requests that name them. Raises InputError for a recording that cannot be read.
    """
    recorded = list(read_recording(lines, source))
    nodes = [line.node for line in recorded if line.node is not None]
    cache = _Nodes(any(getattr(member.factory, "needs_objects", False) for member in members))
    for node in nodes:
        cache.cluster.put_node(node, msgspec.to_builtins(node))
    handlers = Handlers(members, policy, cluster_cache=cache if nodes else None)
    requests = [line for line in recorded if line.verb not in (None, "bind")]
    if not requests:
        raise InputError(f"{source}: it contains no request that can be replayed")
    try:
        for line in requests:
            yield _replay(handlers, line)
    finally:
        handlers.close()


def _replay(handlers: Handlers, line: Recorded) -> Replayed:
    assert line.verb is not None
    reply: VerbReply = asyncio.run(handlers.answer(line.verb, bytes(line.request)))
    differences: list[str] = []
    if reply.status != line.status:
        differences.append(f"status: {line.status} -> {reply.status}")
    before, now = msgspec.json.decode(line.reply), msgspec.json.decode(reply.body)
    differences += _compare(line.verb, before, now)
    return Replayed(f"{line.verb} {reply.facts.pod or '?'}", tuple(differences))


def _compare(verb: Verb, before: Any, now: Any) -> Iterator[str]:
    old, new = _facts(verb, before), _facts(verb, now)
    changes: dict[str, list[str]] = {}
    for key in sorted({*old, *new}):
        was, is_ = old.get(key, "nothing"), new.get(key, "nothing")
        if was != is_:
            changes.setdefault(f"{was} -> {is_}", []).append(key)
    for change, names in changes.items():
        shown = ", ".join(names[:_MAX_NAMED_NODES]) + (
            f" and {len(names) - _MAX_NAMED_NODES} more" * (len(names) > _MAX_NAMED_NODES)
        )
        yield f"{change}: {shown}"


def _facts(verb: Verb, reply: Any) -> dict[str, str]:
    """The result of each node in a reply, as text; keys in any case."""
    if verb == "prioritize":
        entries = [_lower(entry) for entry in reply or () if isinstance(entry, dict)]
        return {str(entry.get("host")): f"score {entry.get('score')}" for entry in entries}
    parts = _lower(reply)
    if verb == "preempt":
        victims = parts.get("nodenametometavictims") or {}
        return {node: f"victims {_uids(_lower(found))}" for node, found in victims.items()}
    facts = dict.fromkeys(parts.get("nodenames") or (), "passes")
    for node in (_lower(parts.get("nodes")).get("items")) or ():
        facts[_lower(_lower(node).get("metadata")).get("name", "?")] = "passes"
    facts |= {name: f"rejected: {why}" for name, why in (parts.get("failednodes") or {}).items()}
    hopeless = parts.get("failedandunresolvablenodes") or {}
    facts |= {name: f"rejected for good: {why}" for name, why in hopeless.items()}
    if parts.get("error"):
        facts["(the request)"] = f"error: {parts['error']}"
    return facts


def _uids(victims: dict[str, Any]) -> str:
    return ", ".join(str(_lower(pod).get("uid")) for pod in victims.get("pods") or ()) or "none"


def _lower(value: Any) -> dict[str, Any]:
    return {key.lower(): item for key, item in value.items()} if isinstance(value, dict) else {}
