"""The nodes and pods as clients of the stream know them, and the changes of the last 30 seconds.

Each refresh with changes makes a batch and the next revision. A batch has the slots that changed, not their values: all
values in events are absolute, so the changes since any revision are made from the present columns, and several batches
merge into one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import msgspec
from msgspec.structs import replace

from stowplan import api
from stowplan.web.columns import NodesCopy, Times, column, flags_of, grouping_labels, node_columns, resources_of
from stowplan.web.pod_table import MAX_FEED_MOVES, PodTable
from stowplan.web.wire import (
    Feed,
    FlagsChanged,
    Happening,
    ListedGroup,
    NodeColumns,
    NodeMap,
    NodesChanged,
    NodesJoined,
    NodesLeft,
    PendingChanged,
    Reset,
)

RING_SECONDS = 30.0
_FEED_ITEMS = 20
_NO_NODE = api.Node()


@dataclass(slots=True)
class Batch:
    """The changes of one revision."""

    revision: int
    time: float
    requested: set[int] = field(default_factory=set)
    """Slots whose pods changed."""
    flags: set[int] = field(default_factory=set)
    nodes: set[int] = field(default_factory=set)
    """Slots whose node object changed, came or went."""
    pods: set[int] = field(default_factory=set)
    """Entries of the pod table."""
    groups: set[str] = field(default_factory=set)
    """Ids of groups of pending pods."""
    others: dict[str, Any] = field(default_factory=dict)
    """Other events by name; a later one replaces an earlier one."""
    reset: bool = False

    @property
    def is_empty(self) -> bool:
        return not (self.requested or self.flags or self.nodes or self.pods or self.groups or self.others or self.reset)


class Mirror:
    """All columns, with their revision. Used on the server's thread only."""

    def __init__(
        self, epoch: str, times: Callable[[], Times] = lambda: Times(0.0), clock: Callable[[], float] = monotonic
    ) -> None:
        self.epoch = epoch
        self.times = times
        self.revision = 0
        self.position = self.node_position = -1
        """Of the last copy, in the logs of the cluster."""
        self.nodes: list[api.Node | None] = []
        self.allocatable: dict[str, list[int]] = {}
        self.requested: dict[str, list[int]] = {}
        self.resources: list[str] = []
        self.labels: list[str] = []
        self.pods: PodTable | None = None
        """Pods on nodes, once a client has loaded them."""
        self.groups: dict[str, ListedGroup] = {}
        self.pending_pods = 0
        self.feed: deque[Happening] = deque(maxlen=MAX_FEED_MOVES)
        """Nodes and, once the pods are loaded, pods that came or left, the newest first."""
        self._clock = clock
        self._columns_known: NodeColumns | None = None
        """All columns, kept while no node object changes; `requested` may be stale."""
        self._batches: deque[Batch] = deque()
        self._first = 0
        """Changes since this revision are known."""
        self._framed_at = -1
        self._framed_events: dict[tuple[int, bool], bytes] = {}
        """Events for streams, by the revision that they have and whether pods are among them."""

    def begin(self, copy: NodesCopy) -> None:
        """Takes a copy of all nodes; clients load everything again."""
        self._columns_known = None
        self.position, self.node_position = copy.position, copy.node_position
        self.nodes = list(copy.nodes or [])
        self.allocatable, self.requested = dict(copy.allocatable), dict(copy.requested)
        self.resources, self.labels = resources_of(self.allocatable), grouping_labels(self.nodes)
        self._append(Batch(self.revision + 1, self._clock(), reset=True))

    def apply(self, copy: NodesCopy) -> None:
        """Takes a copy of the nodes that changed."""
        self.position = copy.position
        batch, before = Batch(self.revision + 1, self._clock()), list(self.nodes)
        if copy.nodes is not None:
            self.node_position = copy.node_position
            self._grow(max(copy.slots, default=-1) + 1)
            self._apply_nodes(copy, copy.nodes, batch)
        nothing = [0] * len(copy.slots)
        for name in {**self.requested, **copy.requested}:
            # The table drops the column of a resource that no pod requests any more.
            known = self.requested.setdefault(name, [0] * len(self.nodes))
            for slot, amount in zip(copy.slots, copy.requested.get(name, nothing), strict=True):
                if known[slot] != amount:
                    known[slot] = amount
                    batch.requested.add(slot)
        if copy.pods is not None and self.pods is not None:
            for slot, pods in zip(copy.slots, copy.pods, strict=True):
                batch.pods |= self.pods.put_node(slot, pods)
        self._report(batch, before)
        self._append(batch)

    def publish(self, event: str, value: Any) -> None:
        """An event that is not about nodes and pods; it replaces earlier ones of its name."""
        self._append(Batch(self.revision + 1, self._clock(), others={event: value}))

    def put_groups(self, pods: int, groups: list[ListedGroup]) -> None:
        """The groups of pending pods as they are now."""
        known, self.groups, self.pending_pods = self.groups, {group.id: group for group in groups}, pods
        changed = {group.id for group in groups if known.get(group.id) != group}
        self._append(Batch(self.revision + 1, self._clock(), groups=changed | (known.keys() - self.groups.keys())))

    def map(self) -> NodeMap:
        if self._columns_known is None:
            self._columns_known = self._columns(range(len(self.nodes)))
        requested = {name: column(self.requested.get(name, [0] * len(self.nodes))) for name in self.resources}
        return NodeMap(
            epoch=self.epoch,
            revision=self.revision,
            time=self.times().now,
            resources=self.resources,
            nodes=replace(self._columns_known, requested=requested),
        )

    def events_after(self, revision: int, *, pods: bool) -> bytes:
        """All changes after a revision as server-sent events, merged; a reset if they are not known any more. Streams
        that are at the same revision share them."""
        if self._framed_at != self.revision:
            self._framed_at, self._framed_events = self.revision, {}
        key = revision, pods
        if key not in self._framed_events:
            self._framed_events[key] = self._events_after(revision, pods=pods)
        return self._framed_events[key]

    def _events_after(self, revision: int, *, pods: bool) -> bytes:
        batches = [batch for batch in self._batches if batch.revision > revision]
        if not self.knows(revision):
            return self._framed([("reset", Reset(epoch=self.epoch))])
        return self._framed(self._merged(batches, pods))

    def _apply_nodes(self, copy: NodesCopy, nodes: list[api.Node | None], batch: Batch) -> None:
        self._columns_known = None
        before, times = list(self.nodes), self.times()
        regroup = False
        for position, slot in enumerate(copy.slots):
            old, new = before[slot], nodes[position]
            offered = dict.fromkeys(self.allocatable, 0)
            offered |= {name: amounts[position] for name, amounts in copy.allocatable.items()}
            if any(self.allocatable.get(name, [0] * (slot + 1))[slot] != amount for name, amount in offered.items()):
                batch.nodes.add(slot)
            for name, amount in offered.items():
                self.allocatable.setdefault(name, [0] * len(self.nodes))[slot] = amount
            self.nodes[slot] = new
            if old is new:
                continue
            if old is None or new is None or _labels_and_taints(old) != _labels_and_taints(new):
                batch.nodes.add(slot)
                regroup = True
            elif flags_of(old, times) != flags_of(new, times):
                batch.flags.add(slot)
        if batch.nodes:
            resources = resources_of(self.allocatable)
            labels = grouping_labels(self.nodes) if regroup else self.labels
            if (resources, labels) != (self.resources, self.labels):
                self.resources, self.labels, batch.reset = resources, labels, True
                if self.pods is not None:
                    self.pods.show(resources)

    def _report(self, batch: Batch, before: list[api.Node | None]) -> None:
        """Adds nodes and pods that came or left to the feed."""
        time, found = self.times().now, []
        for slot in sorted(batch.nodes):
            old, new = before[slot] if slot < len(before) else None, self.nodes[slot]
            if (old is None) != (new is None):
                name = (new or old or _NO_NODE).metadata.name
                kind = "joined" if old is None else "left"
                found.append(Happening(time=time, kind=kind, text=f"Node {name} {kind}", node=name))
        for pod, slot, came in self.pods.moves if self.pods is not None else ():
            node = self.nodes[slot] or (before[slot] if slot < len(before) else None) or _NO_NODE
            name, kind = node.metadata.name, "bound" if came else "gone"
            text = f"{pod} is on {name}" if came else f"{pod} left {name}"
            found.append(Happening(time=time, kind=kind, text=text, pod=pod, node=name))
        if self.pods is not None:
            self.pods.moves.clear()
        if found:
            self.feed.extendleft(found)
            batch.others["feed"] = Feed(items=found[-_FEED_ITEMS:][::-1])

    def _grow(self, size: int) -> None:
        more = size - len(self.nodes)
        if more > 0:
            self.nodes += [None] * more
            for amounts in (*self.allocatable.values(), *self.requested.values()):
                amounts += [0] * more

    def _append(self, batch: Batch) -> None:
        if batch.is_empty:
            return
        self.revision = batch.revision
        if batch.reset:
            self._first = batch.revision
        self._batches.append(batch)
        while self._batches[0].time < batch.time - RING_SECONDS:
            self._first = max(self._first, self._batches.popleft().revision)

    def _merged(self, batches: list[Batch], pods: bool) -> list[tuple[str, Any]]:
        touched = _union(batch.nodes for batch in batches)
        joined = sorted(slot for slot in touched if self.nodes[slot] is not None)
        left = sorted(touched.difference(joined))
        flags = sorted(_union(batch.flags for batch in batches) - touched)
        requested = sorted(_union(batch.requested for batch in batches) - touched)
        events: list[tuple[str, Any]] = []
        if left:
            events.append(("left", NodesLeft(slot=left)))
        if joined:
            events.append(("joined", NodesJoined(slot=joined, nodes=self._columns(joined))))
        if flags:
            times = self.times()
            values = column([flags_of(self.nodes[slot], times) for slot in flags])
            events.append(("flags", FlagsChanged(slot=flags, flags=values)))
        if requested:
            amounts = {name: column([self.requested[name][slot] for slot in requested]) for name in self._requestable()}
            events.append(("nodes", NodesChanged(slot=requested, requested=amounts)))
        changed = _union(batch.pods for batch in batches)
        if pods and changed and self.pods is not None:
            events.append(("pods", self.pods.changed(sorted(changed))))
        groups = set().union(*(batch.groups for batch in batches))
        if groups:
            listed = [group for name, group in self.groups.items() if name in groups]
            value = PendingChanged(pods=self.pending_pods, groups=listed, order=list(self.groups))
            events.append(("pending", value))
        latest: dict[str, Any] = {}
        for batch in batches:
            latest |= batch.others
        return [*events, *latest.items()]

    def _requestable(self) -> list[str]:
        return [name for name in self.resources if name in self.requested]

    def _columns(self, slots: Iterable[int]) -> NodeColumns:
        chosen = list(slots)
        copy = NodesCopy(
            self.position,
            self.node_position,
            chosen,
            [self.nodes[slot] for slot in chosen],
            {name: [amounts[slot] for slot in chosen] for name, amounts in self.allocatable.items()},
            {name: [amounts[slot] for slot in chosen] for name, amounts in self.requested.items()},
        )
        return node_columns(copy, self.resources, self.labels, self.times())

    def _framed(self, events: list[tuple[str, Any]]) -> bytes:
        """The last event carries the id, so that a connection that breaks within the batch gets all of it again."""
        frames = [b"event: %s\ndata: %s\n" % (name.encode(), msgspec.json.encode(data)) for name, data in events]
        return b"\n".join(frames) + b"id: %s\n\n" % self.event_id.encode() if frames else b""

    def knows(self, revision: int) -> bool:
        """Whether a client with this revision can be brought up to date without loading everything again."""
        return self._first <= revision <= self.revision

    @property
    def event_id(self) -> str:
        return f"{self.epoch}-{self.revision}"


def _union(sets: Iterable[set[int]]) -> set[int]:
    return set().union(*sets)


def _labels_and_taints(node: api.Node) -> tuple[dict[str, str], tuple[api.Taint, ...]]:
    return node.metadata.labels, node.spec.taints
