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
    parts: tuple[Change, ...] = ()
    """Changes of different objects that are needed together; each has its own patch."""


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
    """Whether the refusal stays until the pod's spec or the node changes, regardless of other pods."""
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
    """Nodes that the plugin rejects, regardless of other plugins."""
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
    pods: int = 0
    """Of a workload's pending pods: how many get a node after the change."""
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


class HistoryEntry(Record, frozen=True, kw_only=True):
    """Consecutive attempts that failed alike: the same plugins rejected the pod, or the same error occurred."""

    time: str
    """Of the first of them."""
    latest: str
    attempts: int
    verdict: Literal["rejected", "error"]
    plugins: tuple[str, ...] = ()
    message: str = ""
    """kube-scheduler's message of the latest of them, at most 1,024 characters."""


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
    """`Kind/name`; the pod group of a member without a controller."""
    pod_group: str = ""
    """The name of the pod's group."""
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
    recomputed: bool = False
    """Whether a placement is computed again from the present state, rather than read from a recorded decision."""


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
    history: tuple[HistoryEntry, ...] = ()
    """The last attempts, the oldest first; each entry after the first differs from the one before."""
    preemption: PreemptionAnswer | None = None
    message: str = ""
    """kube-scheduler's message, word for word."""
    decision: DecisionRecord | None = None
    took: Took = Took()


class NodePoints(Record, frozen=True, kw_only=True):
    """The points that one plugin gives to one node."""

    raw: float
    normalized: int
    weighted: int
    text: str = ""
    """The plugin's words: `12 pods in the zone`."""


class PluginPoints(Record, frozen=True, kw_only=True):
    """The points of one plugin for the winner and for the node that it is compared with."""

    plugin: str
    weight: int
    winner: NodePoints
    second: NodePoints | None = None
    difference: int = 0
    """Weighted points of the winner minus those of the other node."""


class RankedNode(Record, frozen=True, kw_only=True):
    """A feasible node with its total."""

    node: str
    points: int
    rank: int
    """Nodes with equal totals have the same rank."""


class WeightThreshold(Record, frozen=True, kw_only=True):
    """The weight of a plugin from which, or up to which, another node wins; other weights as they are."""

    plugin: str
    weight: int
    """The configured weight."""
    wins: str
    at_least: int = 0
    """The smallest such weight above the configured one; 0 if the threshold is below it."""
    at_most: int = 0
    """The largest such weight below the configured one; for a range, its upper end; 0 if there is no upper end."""
    draws: bool = False
    """Whether the nodes have equal totals at the threshold itself."""


class WithoutPlugin(Record, frozen=True, kw_only=True):
    """The winner if one plugin gave no points."""

    plugin: str
    wins: str
    by: int = 0
    """Points ahead of the next node; 0 if nodes are equal."""


class PlacedAgain(Record, frozen=True, kw_only=True):
    """The result if the pod were placed again now."""

    node: str = ""
    """Empty if no node would do."""
    by: int = 0
    """Points ahead of the pod's node, or of the next node if the pod's node wins."""


class PlacedExplanation(Record, frozen=True, kw_only=True):
    """The answer to `explain` for a pod on a node."""

    version: int
    as_of: AsOf = AsOf()
    pod: ExplainedPod
    state: str = "placed"
    verdict: Verdict = "fits"
    node: str
    """The node of the pod."""
    winner: str = ""
    """The node with the most points; the pod's node unless the state has changed since."""
    second: str = ""
    """The node that the winner is compared with: the runner-up, or the pod's node where another node wins."""
    sentence: str
    more: tuple[str, ...] = ()
    nodes: int = 0
    feasible: int = 0
    evaluated: int = 0
    tied: tuple[str, ...] = ()
    """All nodes with the most points, if there is more than one."""
    ranking: tuple[RankedNode, ...] = ()
    points: tuple[PluginPoints, ...] = ()
    thresholds: tuple[WeightThreshold, ...] = ()
    without: tuple[WithoutPlugin, ...] = ()
    history: tuple[HistoryEntry, ...] = ()
    """Attempts that failed before the pod was placed, the oldest first."""
    again: PlacedAgain | None = None
    """Present if the explanation is of a recorded decision."""
    decision: DecisionRecord | None = None


class Rule(Record, frozen=True, kw_only=True):
    """One plugin's rule about one node."""

    plugin: str
    ok: bool
    id: str = ""
    wanted: str = ""
    there: str = ""
    text: str = ""
    """The sentence of a rule that rejects the node."""
    facts: dict[str, Any] = msgspec.field(default_factory=dict)


class Standing(Record, frozen=True, kw_only=True):
    """The rank of a node among the feasible nodes."""

    rank: int
    of: int
    points: int = 0
    behind: int = 0
    """Points behind the first node; negative: ahead of the second."""
    first: str = ""
    """The best other node."""


class CheckedChange(Record, frozen=True, kw_only=True):
    """A checked change that makes a node feasible, and the rank of the node after it."""

    change: Change
    then: Standing | None = None


class WhyNot(Record, frozen=True, kw_only=True):
    """The answer to `why-not`: the rules of all plugins about one node."""

    version: int
    as_of: AsOf = AsOf()
    pod: ExplainedPod
    node: str
    fits: bool
    sentence: str
    more: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    silent: tuple[str, ...] = ()
    """Plugins that require nothing of the node for this pod."""
    not_run: tuple[str, ...] = ()
    """Out-of-tree plugins, which run only on nodes that all plugins before them let pass."""
    changes: tuple[CheckedChange, ...] = ()
    standing: Standing | None = None
    """Present if the node would do."""
    points: tuple[PluginPoints, ...] = ()
    """`winner` is the best other node, `second` this one."""
    thresholds: tuple[WeightThreshold, ...] = ()
    """Weights at which this node wins."""


class PendingGroup(Record, frozen=True, kw_only=True):
    """Pending pods with the same sentence."""

    sentence: str
    verdict: Verdict
    state: str = "pending"
    because: str = ""
    """The id of the dominating reason."""
    pods: int
    workloads: dict[str, int] = msgspec.field(default_factory=dict)
    """Number of pods by `namespace/Kind/name`; members of a pod group without a controller by
    `namespace/PodGroup/name`, other pods without a controller by `namespace/name`."""
    sample: tuple[str, ...] = ()
    since: str = ""
    """When the oldest pod of the group was created."""
    explanation: Explanation | None = None
    """Of one pod of the group; present for a workload."""


class NotCreatedPods(Record, frozen=True, kw_only=True):
    """Pods that a controller could not create, because the API server refuses them."""

    workload: str = ""
    """`namespace/Kind/name`; of a pod without a controller, `namespace/name`."""
    pods: int
    wanted: int
    """Pods that the workload wants in all."""
    message: str
    """The API server's message for the first of them."""
    sentence: str


class PendingPods(Record, frozen=True, kw_only=True):
    """The answer to `explain` without a pod, or of a workload: pending pods grouped by sentence."""

    version: int
    as_of: AsOf = AsOf()
    workload: str = ""
    pods: int = 0
    placed: int = 0
    """Of a workload: pods that have a node."""
    groups: tuple[PendingGroup, ...] = ()
    not_created: tuple[NotCreatedPods, ...] = ()
    """Pods that do not exist, so that they are not among the pending ones."""
