"""What comes of a request: the bytes to send, and what there is to tell about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from stowplan.framework import DecisionRecord

Verb = Literal["filter", "prioritize", "preempt", "bind"]
VERBS: tuple[Verb, ...] = ("filter", "prioritize", "preempt", "bind")


class CallFacts:
    """What is to be counted and logged of one request."""

    __slots__ = (
        "abandoned",
        "dry_run",
        "error",
        "node_name",
        "nodes_in",
        "nodes_out",
        "plugin_seconds",
        "pod",
        "pod_uid",
        "rejects",
        "seconds",
        "verb",
    )

    def __init__(self, verb: Verb) -> None:
        self.verb: Verb = verb
        self.pod = ""
        """namespace/name, as far as the request could be read."""
        self.pod_uid = ""
        self.node_name = ""
        """The node that a pod is bound to."""
        self.nodes_in = 0
        self.nodes_out = 0
        self.rejects: dict[str, int] = {}
        """Rejected nodes by reason."""
        self.error = ""
        """Why there was no answer of the plugins'; what was sent in its place the failure policy says."""
        self.abandoned = False
        """Whether the fallback left while the work was still going on."""
        self.dry_run = False
        """Whether nodes were judged that no cache knows."""
        self.seconds = 0.0
        self.plugin_seconds: dict[str, float] = {}
        """Time spent in each plugin, by name."""

    def record(self) -> DecisionRecord:
        """All that there is to tell where no plugin has answered."""
        return DecisionRecord(pod=self.pod, uid=self.pod_uid, node=self.node_name, error=self.error)


class VerbReply:
    """An answer. `status` is HTTP's; the body is JSON, always."""

    __slots__ = ("body", "decision", "facts", "status")

    def __init__(
        self, status: int, body: bytes, facts: CallFacts, decision: Callable[[], DecisionRecord] | None = None
    ) -> None:
        self.status = status
        self.body = body
        self.facts = facts
        self.decision: Callable[[], DecisionRecord] = decision or facts.record
        """Tells the whole story, which is worked out then; it reads nothing that may have changed meanwhile. It may be
        kept for long, and does not keep the body."""
