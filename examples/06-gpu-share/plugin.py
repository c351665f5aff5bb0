"""Shares GPUs by memory: pods request part of a GPU's memory, and several pods share a GPU."""

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
    """A pod's part of a GPU; `gpu` is None if the GPU is unknown."""

    gpu: int | None
    memory: int


class GpuShare(Plugin):
    """Places a pod on the fullest GPU with enough free memory, and records the GPU in an annotation.

    NodeResourcesFit counts a node's memory in total only: two GPUs with 4 free on each do not fit a pod of 6.
    """

    name = "GpuShare"
    needs_objects = True  # Reads annotations of pods
    score_range = (0, 1)

    class Args(msgspec.Struct):
        memory: str = "example.com/gpu-memory"
        """Extended resource: a node's total of all its GPUs; a pod's request is from one GPU."""
        gpus: str = "example.com/gpus"
        """Label of nodes with the number of GPUs, all of the same size."""
        index: str = "example.com/gpu-index"
        """Annotation of pods with the index of the GPU."""
        assume_time: str = "example.com/gpu-assume-time"
        """Annotation of pods with the time of the assignment."""

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
        """The less memory stays free on the GPU, the higher: later large pods need empty GPUs."""
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
        """Writes the annotations; the device plugin reads the GPU from them."""
        held = self.held.of(pod.uid)
        if held is None:
            return reject("the GPU was given away, it took too long")
        now = datetime.fromtimestamp(self.handle.now(), UTC)
        notes = {self.args.index: str(held.value.gpu), self.args.assume_time: now.isoformat(timespec="milliseconds")}
        log.info("%s gets %d on GPU %s of %s", pod.key, held.value.memory, held.value.gpu, node_name)
        return await self.pods.annotate(pod, notes)

    # Total, used and free memory

    def wanted(self, pod: Pod) -> int:
        return pod.template.requests.get(self.args.memory, 0)

    def count(self, node: NodeInfo) -> int:
        value = node.labels.get(self.args.gpus, "")
        return int(value) if value.isdecimal() else 0

    def size(self, node: NodeInfo) -> int:
        """Memory of one GPU of the node."""
        count = self.count(node)
        return node.allocatable.get(self.args.memory, 0) // count if count else 0

    def choose(self, pod: Pod, node: NodeInfo, held: Mapping[str, Slice]) -> Slice | None:
        """The fullest GPU with enough left for the pod."""
        wanted = self.wanted(pod)
        fitting = [(left, gpu) for gpu, left in enumerate(self.left(pod, node, held)) if left >= wanted]
        return Slice(min(fitting)[1], wanted) if fitting else None

    def left(self, pod: Pod, node: NodeInfo, held: Mapping[str, Slice]) -> list[int]:
        """Free memory of each GPU. A pod whose GPU is unknown is counted on each."""
        left = [self.size(node)] * self.count(node)
        for gpu, memory in self.taken(pod, node, held):
            for each in range(len(left)) if gpu is None else (gpu,):
                left[each] -= memory
        return left

    def taken(self, pod: Pod, node: NodeInfo, held: Mapping[str, Slice]) -> Iterator[Slice]:
        """Reservations of other pods for the node, and slices of the pods on it."""
        yield from (value for uid, value in held.items() if uid != pod.uid)
        count = self.count(node)
        for uid, other in node.pods.items():
            if uid not in held and uid != pod.uid and self.wanted(other):
                value = (other.object["metadata"].get("annotations") or {}).get(self.args.index, "")
                known = value.isdecimal() and int(value) < count
                yield Slice(int(value) if known else None, self.wanted(other))
