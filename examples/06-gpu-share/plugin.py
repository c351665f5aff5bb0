"""GPUs in slices: pods ask for some memory of a GPU, and several share one."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from stowplan import (
    Action,
    ClusterEventWithHint,
    CycleState,
    EventResource,
    Handle,
    NodeInfo,
    Plugin,
    Pod,
    PodTemplate,
    Status,
    on,
    reject,
    reject_forever,
)
from stowplan.extender import PodWriter, Reservations

log = logging.getLogger("gpu-share")
log.setLevel(logging.INFO)


class Slice(NamedTuple):
    """What a pod has of a GPU; the GPU is None where nobody knows which."""

    gpu: int | None
    memory: int


class GpuShare(Plugin):
    """A pod needs one GPU with enough memory left. It gets the fullest that will do, and an annotation tells which.

    The scheduler's own arithmetic knows a node's memory in total only: two GPUs with 4 left each are no place for a 6.
    """

    name = "GpuShare"
    needs_objects = True  # The annotations of pods
    score_range = (0, 1)

    class Args(msgspec.Struct):
        memory: str = "example.com/gpu-memory"
        """The resource: nodes offer that of all their GPUs together, pods request some of one GPU."""
        gpus: str = "example.com/gpus"
        """The label of nodes that says how many GPUs, all of the same size, they have."""
        index: str = "example.com/gpu-index"
        """The annotation of pods that says which GPU is theirs."""
        assume_time: str = "example.com/gpu-assume-time"
        """The annotation of pods that says when it was given to them."""

    args: Args

    def __init__(self, args: Args, handle: Handle) -> None:
        super().__init__(args, handle)
        self.held = Reservations[Slice](handle)
        self.pods = PodWriter(handle)

    def concerns(self, template: PodTemplate) -> bool:
        return self.args.memory in template.requests

    def events_to_register(self) -> list[ClusterEventWithHint]:
        node_changes = Action.Add | Action.UpdateNodeAllocatable | Action.UpdateNodeLabel
        return [on(EventResource.AssignedPod, Action.Delete), on(EventResource.Node, node_changes)]

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        if self.size(node) < self.wanted(pod):
            return reject_forever("node(s) had no GPU of that size")
        if self.choose(pod, node, self.held.on(node)) is None:
            return reject("node(s) had no GPU with that much memory left")
        return None

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> float:
        """The less would be left on the GPU, the better: large pods that come later need GPUs that are empty."""
        held = self.held.on(node)
        chosen = self.choose(pod, node, held)
        if chosen is None or chosen.gpu is None:
            return 0
        return 1 - (self.left(pod, node, held)[chosen.gpu] - chosen.memory) / self.size(node)

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        node = self.handle.node_info(node_name)
        if node is None:
            return reject("node(s) went away")
        claimed = self.held.claim(pod, node, lambda others: self.choose(pod, node, others))
        return None if claimed else reject("node(s) had no GPU with that much memory left, others were faster")

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        self.held.release(pod.uid)

    async def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Whoever starts the pod's containers reads from the annotation which GPU to show them."""
        held = self.held.of(pod.uid)
        if held is None:
            return reject("the GPU was given away, it took too long")
        now = datetime.fromtimestamp(self.handle.now(), UTC)
        notes = {self.args.index: str(held.value.gpu), self.args.assume_time: now.isoformat(timespec="milliseconds")}
        log.info("%s gets %d on GPU %s of %s", pod.key, held.value.memory, held.value.gpu, node_name)
        return await self.pods.annotate(pod, notes)

    # What there is, what is taken, what is left

    def wanted(self, pod: Pod) -> int:
        return pod.template.requests.get(self.args.memory, 0)

    def count(self, node: NodeInfo) -> int:
        told = node.labels.get(self.args.gpus, "")
        return int(told) if told.isdecimal() else 0

    def size(self, node: NodeInfo) -> int:
        """The memory of one GPU of the node."""
        count = self.count(node)
        return node.allocatable.get(self.args.memory, 0) // count if count else 0

    def choose(self, pod: Pod, node: NodeInfo, held: Mapping[str, Slice]) -> Slice | None:
        """The fullest GPU with enough left for the pod."""
        wanted = self.wanted(pod)
        fitting = [(left, gpu) for gpu, left in enumerate(self.left(pod, node, held)) if left >= wanted]
        return Slice(min(fitting)[1], wanted) if fitting else None

    def left(self, pod: Pod, node: NodeInfo, held: Mapping[str, Slice]) -> list[int]:
        """The memory that other pods leave of each GPU. One of whose GPU nobody knows might be on any."""
        left = [self.size(node)] * self.count(node)
        for gpu, memory in self.taken(pod, node, held):
            for each in range(len(left)) if gpu is None else (gpu,):
                left[each] -= memory
        return left

    def taken(self, pod: Pod, node: NodeInfo, held: Mapping[str, Slice]) -> Iterator[Slice]:
        """What other pods were promised on the node, and what those have that are there."""
        yield from (value for uid, value in held.items() if uid != pod.uid)
        count = self.count(node)
        for uid, other in node.pods.items():
            if uid not in held and uid != pod.uid and self.wanted(other):
                told = (other.object["metadata"].get("annotations") or {}).get(self.args.index, "")
                known = told.isdecimal() and int(told) < count
                yield Slice(int(told) if known else None, self.wanted(other))
