"""The JSON of the page: one struct for each path below /api/v1/ (in a live scheduler /insight/v1/), and for each event.

`explain`, `why-not` and `workload` return the structs of `framework.explanation`, as the commands print them.

A *slot* is the index of a node in the columns; slots stay the same during an `epoch`. A slot without a node has an
empty name and the flag 16. Amounts are Kubernetes' integers: millicores for cpu, whole units (bytes) for other
resources. Times are seconds since `Hello.start`, which is 0 (1970) for a live source. A column is an array with one
entry for each slot, or `{"all": value}` if all entries are equal.
"""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

import msgspec

from stowplan.framework.explanation import PendingGroup, Verdict

T = TypeVar("T")

SourceKind = Literal["simulation", "recording", "snapshot", "cluster", "scheduler"]
CORDONED, NOT_READY, PRESSURE, JUST_JOINED, NO_NODE = 1, 2, 4, 8, 16
TimeUnit = Literal["seconds", "attempts"]
"""Bits of `NodeColumns.flags`."""


class WireStruct(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """Base of the page's JSON; every field is present."""


class Constant(msgspec.Struct, Generic[T], frozen=True):
    """A column of equal entries."""

    all: T


Ints = list[int] | Constant[int]


class Indexed(WireStruct, frozen=True):
    """A column of few different texts: `values[index[slot]]`."""

    values: list[str]
    index: Ints


class Hello(WireStruct, frozen=True):
    """`hello`: the source, and what it offers."""

    source: str
    """The name of the source for people: `black-friday.yaml`, `cluster https://…`."""
    kind: SourceKind
    version: str
    """Of Stowplan."""
    epoch: str
    """Changes when slots, pods or times get another meaning: reload everything."""
    revision: int
    time: float
    start: float
    features: list[str]
    """Optional paths that the source serves: `stream`, `history`, `what-if`, `run`, `compare`, `queue`."""
    nodes: int
    pods: int
    """Pods on nodes."""
    pending: int
    leader: str = ""
    """Of a replica that does not lead: the identity of the leader."""
    unit: TimeUnit = "seconds"
    """Of the times of a run."""


class NodeColumns(WireStruct, frozen=True):
    """Nodes by slot."""

    name: list[str]
    labels: dict[str, Indexed]
    """The labels that nodes can be grouped by: those with 2 to 64 values. Nodes without the label have the value ""."""
    allocatable: dict[str, Ints]
    requested: dict[str, Ints]
    taints: Indexed
    """`key=value:Effect`, joined by commas."""
    flags: Ints
    created: Ints
    """Seconds since 1970; 0 if unknown."""


class NodeMap(WireStruct, frozen=True):
    """`map`: all nodes."""

    epoch: str
    revision: int
    time: float
    resources: list[str]
    """The keys of `allocatable` and `requested`: cpu, memory, pods, then those that any node offers."""
    nodes: NodeColumns


class PodColumns(WireStruct, frozen=True):
    """`pods`: pods on nodes. A pod is the index of its entry, which is reused after the pod is gone."""

    epoch: str
    revision: int
    number: int
    """Of entries."""
    node: Ints
    """The slot of the pod's node; -1: there is no such pod."""
    workload: Indexed
    """`namespace/Kind/name`; `namespace/` for pods without a controller and without a pod group."""
    priority: Ints
    requests: dict[str, Ints]


class PodNames(WireStruct, frozen=True):
    """`pods?names`: `namespace/name` of the entries of `pods`, as prefix and suffix."""

    epoch: str
    revision: int
    prefix: Indexed
    suffix: list[str]


class ListedGroup(PendingGroup, frozen=True, kw_only=True):
    """A group of pending pods with the id of its page."""

    id: str


class PendingPage(WireStruct, frozen=True):
    """`pending`: the largest 200 groups; `workloads` of a group has the 20 largest."""

    epoch: str
    revision: int
    time: float
    pods: int
    groups: list[ListedGroup]
    more_groups: int = 0


class PendingPodRow(WireStruct, frozen=True):
    """One pending pod."""

    pod: str
    workload: str
    priority: int
    since: str
    """When the pod was first ready for an attempt, RFC 3339; empty if unknown."""
    attempts: int
    place: str
    """The sub-queue: active, backoff, unschedulable, gated, in-flight, permit, or unknown."""


class GroupPage(WireStruct, frozen=True):
    """`pending/GROUP?from=&count=`: pods of a group by name."""

    id: str
    sentence: str
    verdict: Verdict
    pods: int
    first: int
    rows: list[PendingPodRow]


class FitStep(WireStruct, frozen=True):
    """A rule of the funnel, in the order of `Explanation.steps`."""

    plugin: str
    kind: str
    """identity, location, relation, amount or extender."""
    lost: int
    left: int


class Lacks(WireStruct, frozen=True):
    """The amounts of a resource that nodes lack for the pod."""

    slot: list[int]
    amount: list[int]


class NodeFit(WireStruct, frozen=True):
    """`fit/NAMESPACE/POD`: the answer of the filters about every node."""

    epoch: str
    revision: int
    pod: str
    whole: str
    """The plugin that rejects the pod as a whole, before any node; empty otherwise."""
    steps: list[FitStep]
    step: Ints
    """By slot: 0 the node would do, n the rule `steps[n - 1]` rejects it first, -1 no node."""
    plugins: list[str]
    rejects: Ints
    """By slot: bit i is set if `plugins[i]` rejects the node, whatever other plugins answer."""
    near: list[int]
    """Slots of near misses: nodes that one plugin rejects, and that a small change would open."""
    lacks: dict[str, Lacks]


class ScoringPlugin(WireStruct, frozen=True):
    """A plugin with its scores by the position of a node in `Points.slot`."""

    plugin: str
    weight: int
    normalized: Ints


class OpenedNodes(WireStruct, frozen=True):
    """`opened/NS/POD/NUMBER`: the nodes on which the pod fits with a proposal of its explanation."""

    epoch: str
    revision: int
    pod: str
    slot: list[int]


class ScoreColumns(WireStruct, frozen=True):
    """`points/NAMESPACE/POD`: the scores of all nodes that would do."""

    epoch: str
    revision: int
    pod: str
    node: int
    """The slot of the pod's node; -1 for a pending pod."""
    slot: list[int]
    """By falling total, then by name."""
    total: Ints
    plugins: list[ScoringPlugin]


class PodOnNode(WireStruct, frozen=True):
    """A pod on the node of a page."""

    pod: str
    workload: str
    priority: int
    since: str
    """status.startTime; empty if unknown."""
    requests: dict[str, int]
    state: str
    """running, assumed (not bound yet), terminating."""


class NodePage(WireStruct, frozen=True):
    """`node/NAME`: a node with its pods."""

    epoch: str
    revision: int
    slot: int
    name: str
    labels: dict[str, str]
    taints: list[str]
    flags: int
    conditions: dict[str, str]
    """Status by type."""
    kubelet: str
    created: str
    allocatable: dict[str, int]
    requested: dict[str, int]
    pods: list[PodOnNode]
    """By falling share of the node's fullest resource."""
    nominated: list[str]
    """Pending pods nominated to the node."""


class QueueRow(WireStruct, frozen=True):
    """A pod in the queue."""

    pod: str
    priority: int
    attempts: int
    since: float
    until: float = 0.0
    """When the backoff ends, or the longest wait at Permit; 0 if it does not end by itself."""
    plugins: list[str] = []
    """The plugins that rejected the pod, or that it waits for."""


class QueuePage(WireStruct, frozen=True):
    """`queue`: the first pods of each sub-queue."""

    epoch: str
    time: float
    counts: dict[str, int]
    active: list[QueueRow]
    backoff: list[QueueRow]
    unschedulable: list[QueueRow]
    gated: list[QueueRow]
    permit: list[QueueRow]
    feed: list[Happening]
    """The newest first, at most 200."""


class Happening(WireStruct, frozen=True):
    """Something notable: a pod was bound, rejected or evicted, a node came or went."""

    time: float
    kind: str
    """bound, gone, rejected, evicted, joined, left."""
    text: str
    pod: str = ""
    node: str = ""


class Mark(WireStruct, frozen=True):
    """A mark on the timeline."""

    time: float
    kind: str
    text: str


class History(WireStruct, frozen=True):
    """`history?since=`: samples over time; all lists have one entry for each entry of `time`."""

    epoch: str
    time: list[float]
    queues: dict[str, list[int]]
    """By active, backoff, unschedulable, gated."""
    bound: list[float]
    """Pods bound per second since the sample before."""
    failed: list[float]
    evicted: list[float]
    waits: dict[str, list[float]]
    """Seconds from the first attempt to the binding, of pods bound since the sample before: p50, p90, p99."""
    all_waits: dict[str, float]
    """The same of all pods bound since the first sample; empty if there is none."""
    attempts: dict[str, list[float]]
    """Milliseconds of a scheduling attempt: p50, p99."""
    use: dict[str, list[float]]
    """Requested share of allocatable, by resource."""
    marks: list[Mark]


BOUND, GONE, JOINED, LEFT, FAILED, EVICTED, CREATED = range(7)
"""Kinds of `RunEvents`. An evicted pod is gone later; a pod that is bound was created before."""


class RunEvents(WireStruct, frozen=True):
    """`run/events?from=`: what happened in a simulation or recording, as columns. Its pods are those of `pods`.

    A long run is read in several answers, until `first` and the number of events make `total`. The first one has what
    belongs to the whole run: `nodes`, `start` and `reasons`; those of the others are empty.
    """

    epoch: str
    first: int
    total: int
    unit: TimeUnit
    """Of all times of the run: simulated seconds, or scheduling attempts since its start."""
    end: float
    plays: bool
    """Whether the page plays the run from its start."""
    dt: list[int]
    """Thousandths of the unit since the event before."""
    kind: list[int]
    pod: list[int]
    """-1 for events of nodes."""
    node: list[int]
    """The number of the node; for a failed attempt, that of the reason."""
    nodes: list[str]
    """Names by number."""
    lost: NodeColumns
    """Nodes of the run that `map` lacks, since they are gone at its end."""
    start: Ints
    """By pod: the number of its node at the start; -1 pending, -2 not there."""
    reasons: list[str]
    marks: list[Mark]


class ConfiguredPlugin(WireStruct, frozen=True):
    """A plugin at an extension point."""

    plugin: str
    weight: int
    """0 where weights do not apply."""
    default: bool
    """Whether the default configuration has it at this point, with this weight."""


class ConfiguredProfile(WireStruct, frozen=True):
    """A profile: plugins by extension point, in order."""

    scheduler_name: str
    points: dict[str, list[ConfiguredPlugin]]
    removed: dict[str, list[str]]
    """Plugins of the default configuration that the profile lacks, by extension point."""
    args: dict[str, Any]
    changed_args: list[str]
    """Plugins whose arguments differ from the defaults."""


class ConfigPage(WireStruct, frozen=True):
    """`config`: the effective configuration."""

    yaml: str
    profiles: list[ConfiguredProfile]
    extenders: list[str]
    percentage_of_nodes_to_score: int


# Events of the stream


class NodesChanged(WireStruct, frozen=True):
    """`nodes`: the pods on some nodes changed."""

    slot: list[int]
    requested: dict[str, Ints]


class FlagsChanged(WireStruct, frozen=True):
    """`flags`."""

    slot: list[int]
    flags: Ints


class NodesJoined(WireStruct, frozen=True):
    """`joined`: new nodes, or nodes whose object changed; columns by position in `slot`."""

    slot: list[int]
    nodes: NodeColumns


class NodesLeft(WireStruct, frozen=True):
    """`left`."""

    slot: list[int]


class PodsChanged(WireStruct, frozen=True):
    """`pods`, for streams with `?pods=1`: pods that came to a node, with columns by position in `pod`, and pods that
    are gone."""

    pod: list[int]
    node: Ints
    name: list[str]
    """namespace/name."""
    workload: Indexed
    priority: Ints
    requests: dict[str, Ints]
    gone: list[int]


class QueueChanged(WireStruct, frozen=True):
    """`queue`: counts, and the newest sample of `history`."""

    time: float
    counts: dict[str, int]
    bound: float
    failed: float
    pods: int
    nodes: int


class PendingChanged(WireStruct, frozen=True):
    """`pending`: groups that are new or changed, and the ids of all groups in order."""

    pods: int
    groups: list[ListedGroup]
    order: list[str]


class Feed(WireStruct, frozen=True):
    """`feed`: notable happenings, at most 20."""

    items: list[Happening]


class RunState(WireStruct, frozen=True):
    """`run`: the time, speed and state of a simulation."""

    time: float
    speed: float
    playing: bool


class Reset(WireStruct, frozen=True):
    """`reset`: load everything again."""

    epoch: str
