"""Explanations: the record that answers why a pod is pending, or why it is on its node.

Plugins return `Refusal` and `Requirement` from `Plugin.explain` and `Plugin.requirement`; the room `insight` builds
`Explanation` of them. The JSON of these structs is stable: programs read ids and facts, never the sentences. Amounts in
`facts` are Kubernetes' integers: millicores for cpu, whole units (bytes) for other resources.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from stowplan.framework.decision_record import DecisionRecord, Record

ChangeKind = Literal[
    "request",
    "toleration",
    "selector",
    "spread",
    "affinity",
    "port",
    "volume",
    "device",
    "priority",
    "gate",
    "uncordon",
    "untaint",
    "label",
    "leave",
    "start",
    "grow",
    "add",
]
EXPLANATION_VERSION = 1
EXPLANATION_FAILED = "explanation.failed"
"""The id of a refusal whose text is the error of a plugin that could not explain itself."""
Verdict = Literal["fits", "never", "not-now", "waiting"]


class PatchOperation(Record, frozen=True):
    """One operation of a JSON Patch (RFC 6902)."""

    op: Literal["add", "remove", "replace"]
    path: str
    value: Any = None


class LeavingPod(Record, frozen=True):
    """A pod that would have to leave its node."""

    pod: str
    priority: int = 0
    node: str = ""
    """The node that the pod leaves; empty: the node of the change."""


class StartingPods(Record, frozen=True, kw_only=True):
    """Pods that would have to start in a topology domain."""

    number: int
    namespace: str
    labels: dict[str, str]
    topology_key: str
    domain: str
    node: str
    """A node of the domain."""


class Change(Record, frozen=True, kw_only=True):
    """A change of the pod, of a node or of the cluster."""

    kind: ChangeKind
    on: Literal["pod", "node", "cluster"]
    text: str
    """What to change, for people: `cpu: 11950m`."""
    effort: float
    """Orders changes: the smallest is proposed first."""
    node: str = ""
    """The node to change, or on which the pods are."""
    patch: tuple[PatchOperation, ...] = ()
    """Of the pod or of the node, so that the change can be applied."""
    pods: tuple[LeavingPod, ...] = ()
    """Pods that leave, for the kind `leave`."""
    starts: tuple[StartingPods, ...] = ()
    """Pods that start elsewhere, for the kind `start`."""


class Refusal(Record, frozen=True, kw_only=True):
    """Why one plugin rejects one node, or the pod as a whole."""

    id: str
    """Stable identifier of the reason: `resources.insufficient`."""
    text: str
    """A sentence about the node, without subject: `needs 12 CPU; 11.95 of 16 are free`."""
    plugin: str = ""
    """Filled in by the caller."""
    reasons: tuple[str, ...] = ()
    """The reasons of the status that this refusal is about; empty: all of them."""
    wanted: str = ""
    there: str = ""
    rule: str = ""
    """The requirement in the list of steps; `wanted` if empty."""
    lasting: bool = False
    """Whether the refusal stays as long as pod and node are as they are, whichever pods come or go."""
    facts: dict[str, Any] = msgspec.field(default_factory=dict)
    changes: tuple[Change, ...] = ()
    """Changes that could end the refusal, not checked yet, the smallest first."""
    notes: tuple[str, ...] = ()
    """Sentences about facts that are easily overlooked: pods of another ReplicaSet that count, a domain without usable
    nodes."""


class Requirement(Record, frozen=True):
    """What a plugin requires of a node for a pod, and what the node has, whether or not the node passes."""

    wanted: str
    there: str = ""


class Step(Record, frozen=True):
    """The nodes that are left after a rule, in the order in which an explanation applies rules."""

    left: int
    lost: int = 0
    rule: str = ""
    plugin: str = ""


class Reason(Record, frozen=True, kw_only=True):
    """All nodes that one plugin rejects for one reason."""

    id: str
    plugin: str
    nodes: int
    """Nodes that the plugin rejects, whatever other plugins answer."""
    alone: int = 0
    """Nodes that no other plugin rejects."""
    messages: dict[str, int] = msgspec.field(default_factory=dict)
    """kube-scheduler's reasons with their counts in the message."""
    sample: tuple[str, ...] = ()


class Because(Record, frozen=True, kw_only=True):
    """The reason at which no node is left."""

    id: str
    plugin: str
    nodes: int = 0
    """Nodes that were left before it."""
    best: str = ""
    """Of those, the node that needs the smallest change."""
    facts: dict[str, Any] = msgspec.field(default_factory=dict)
    forced_by: Because | None = None
    """The relation to other pods that left only these nodes."""


class ClosestNode(Record, frozen=True, kw_only=True):
    """A node with its refusals and checked changes, each of which would make it feasible."""

    node: str
    refusals: tuple[Refusal, ...]
    changes: tuple[Change, ...] = ()


class Proposal(Record, frozen=True, kw_only=True):
    """A checked change and the number of nodes on which the pod fits after it."""

    change: Change
    opens: int
    best: str = ""
    """The node that the scheduler would choose."""
    for_all: int = 0
    """For added nodes: how many it takes for all pending pods of the workload."""


class Wake(Record, frozen=True):
    """A cluster event that moves the pod back to the active queue."""

    event: str
    text: str


class QueueState(Record, frozen=True, kw_only=True):
    """The pod in the scheduling queue."""

    place: str
    text: str = ""
    since: str = ""
    attempts: int = 0
    latest: str = ""
    """When the pod is tried again at the latest."""
    ahead: int = 0
    plugins: tuple[str, ...] = ()
    wakes: tuple[Wake, ...] = ()


class PreemptionAnswer(Record, frozen=True, kw_only=True):
    """Whether other pods would be evicted for the pod."""

    eligible: bool
    text: str
    nodes: int = 0
    """Nodes on which evictions would make room."""
    cheapest: str = ""
    victims: tuple[str, ...] = ()
    pdb_violations: int = 0


class ExplainedPod(Record, frozen=True, kw_only=True):
    """The pod that is explained."""

    namespace: str
    name: str
    workload: str = ""
    scheduler: str = ""
    priority: int = 0
    requests: dict[str, int] = msgspec.field(default_factory=dict)
    made_of: dict[str, dict[str, int]] = msgspec.field(default_factory=dict)
    """By resource: the parts of the request, by container name; `overhead` for the pod's overhead."""
    since: str = ""
    """When the pod was created."""


class AsOf(Record, frozen=True, kw_only=True):
    """The state that an answer is about."""

    time: str = ""
    revision: int = 0
    by: str = ""
    source: str = ""


class Took(Record, frozen=True, kw_only=True):
    """What an explanation cost."""

    ms: float = 0.0
    checks: int = 0
    unchecked: tuple[str, ...] = ()
    """Plugins and extenders that did not take part in the checks."""


class Explanation(Record, frozen=True, kw_only=True):
    """The answer to `explain` for a pod without a node."""

    version: int
    """`EXPLANATION_VERSION`; grows when a field changes its meaning."""
    as_of: AsOf = AsOf()
    pod: ExplainedPod
    state: str
    """pending, gated, waiting, placed."""
    verdict: Verdict
    sentence: str
    more: tuple[str, ...] = ()
    because: Because | None = None
    steps: tuple[Step, ...] = ()
    reasons: tuple[Reason, ...] = ()
    closest: tuple[ClosestNode, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    queue: QueueState | None = None
    preemption: PreemptionAnswer | None = None
    message: str = ""
    """kube-scheduler's message, word for word."""
    decision: DecisionRecord | None = None
    took: Took = Took()
