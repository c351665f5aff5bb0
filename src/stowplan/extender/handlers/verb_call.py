"""One call of a verb: the request in progress, its reply, and the facts that metrics and logs report of it."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

from stowplan.api import ObjectMeta
from stowplan.framework import DecisionRecord
from stowplan.framework.extender import EXTENDER_VERBS, ExtenderVerb
from stowplan.runtime.out_of_tree.threads import OutOfTimeError

Verb = ExtenderVerb
VERBS = EXTENDER_VERBS


class CallFacts:
    """Facts about a call for metrics, logs and decision records. Holds neither the request nor the reply."""

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
        """namespace/name; "" if the request could not be read."""
        self.pod_uid = ""
        self.node_name = ""
        """The node that the pod is bound to."""
        self.nodes_in = 0
        self.nodes_out = 0
        self.rejects: dict[str, int] = {}
        """Number of rejected nodes by reason."""
        self.error = ""
        """Why the plugins gave no result; the failure policy chose the reply."""
        self.abandoned = False
        """Whether the fallback was sent while the plugins were still running."""
        self.dry_run = False
        """Whether the request contained nodes that are not in the informer cache."""
        self.seconds = 0.0
        self.plugin_seconds: dict[str, float] = {}
        """Time spent in each plugin, by name."""

    def record(self) -> DecisionRecord:
        """The decision record of a call without a result of the plugins."""
        return DecisionRecord(pod=self.pod, uid=self.pod_uid, node=self.node_name, error=self.error)


class VerbCall:
    """A request with its deadline. `clock` is monotonic."""

    __slots__ = ("body", "clock", "deadline", "facts", "request")

    def __init__(self, verb: Verb, body: bytes | bytearray, deadline: float | None, clock: Callable[[], float]) -> None:
        self.body = body
        self.deadline = deadline
        self.clock = clock
        self.facts = CallFacts(verb)
        self.request: Any = None
        """The parsed request, from which a fallback is built; None if it could not be read."""

    def check_deadline(self) -> None:
        """Raise OutOfTimeError once the deadline has passed."""
        if self.deadline is not None and self.clock() >= self.deadline:
            raise OutOfTimeError("plugins take too long")

    def snapshot(self) -> VerbCall:
        """A copy for the fallback of an abandoned call, whose own facts its thread still changes."""
        call = VerbCall(self.facts.verb, self.body, self.deadline, self.clock)
        call.request = self.request
        call.facts = copy(self.facts)
        return call

    def set_pod(self, metadata: ObjectMeta) -> None:
        self.facts.pod = f"{metadata.namespace}/{metadata.name}"
        self.facts.pod_uid = metadata.uid


class VerbReply:
    """HTTP status and JSON body of a reply, with the facts of its call."""

    __slots__ = ("body", "decision", "facts", "status")

    def __init__(
        self, status: int, body: bytes, facts: CallFacts, decision: Callable[[], DecisionRecord] | None = None
    ) -> None:
        self.status = status
        self.body = body
        self.facts = facts
        self.decision: Callable[[], DecisionRecord] = decision or facts.record
        """Builds the decision record on demand, from values that no longer change. It may outlive the reply, so it
        references neither the request nor the body."""
