"""The plugin FractionalGPU: several pods share a GPU.

NodeResourcesFit counts a resource of a node in total only: two GPUs with 400 thousandths left on each do not fit a pod
of 600. This plugin follows every GPU, chooses the pod's GPUs in Reserve and writes their indices to the pod, where the
container runtime's device plugin reads them. It takes part in scoring by one of several policies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from random import Random

import numpy as np

from stowplan import api
from stowplan import framework as fwk
from stowplan.config.args import FractionalGPUArgs
from stowplan.framework.instructions import Failure, Write
from stowplan.framework.reservations import Reservations
from stowplan.optional_plugins.fractional_gpu.devices import Assignment, GpuTable, Indices, NodeGpus
from stowplan.optional_plugins.fractional_gpu.policies import POLICIES, RANDOM, GpuPlacement
from stowplan.optional_plugins.fractional_gpu.request import GpuRequest, gpu_request
from stowplan.plugins.base import InTreePlugin

NAME = "FractionalGPU"
_NO_SUCH_GPU = fwk.reject_forever("node(s) had no GPU of that size").with_plugin(NAME)
_NOT_ENOUGH_LEFT = fwk.reject("node(s) had no GPU with that much left").with_plugin(NAME)
_GONE = fwk.reject("node(s) had no GPU with that much left, others were faster")
_MAX_MEMO_ENTRIES = 100_000


class FractionalGPU(InTreePlugin):
    """Filters nodes by the free share of each GPU, scores them by a policy, and assigns GPUs."""

    name = NAME
    scope = "node+pods"
    scores_infeasible_nodes = False
    args: FractionalGPUArgs

    def __init__(self, args: FractionalGPUArgs, handle: fwk.Handle) -> None:
        super().__init__(args := args.completed(), handle)
        self.cluster.serve_plugins(frozenset((args.resource, args.gpu_count)), follows_pods=True)
        self.policy = POLICIES[args.policy](args)
        self.held = Reservations[Assignment](handle)
        self.gpus = GpuTable(self.cluster, args, self._request_of, self.held)
        self._allocatable_cpu, self._requested_cpu = self.nodes.allocatable["cpu"], self.nodes.requested["cpu"]
        if args.policy == RANDOM:
            vars(self)["scope"] = "cluster"  # Drawn for each pod, so scores are not kept.

    def concerns(self, template: fwk.PodTemplate) -> bool:
        return bool(self._request(template).gpus) or self.policy.scores_cpu_pods or self.args.policy == RANDOM

    def events_to_register(self) -> Iterable[fwk.ClusterEventWithHint]:
        changes = fwk.Action.Add | fwk.Action.UpdateNodeAllocatable | fwk.Action.UpdateNodeLabel
        return (
            fwk.on(fwk.EventResource.AssignedPod, fwk.Action.Delete),
            fwk.on(fwk.EventResource.Node, changes),
        )

    # Filter

    def slot_filter(self, template: fwk.PodTemplate) -> Callable[[int], fwk.Status | None] | None:
        request = self._request(template)

        def check(slot: int) -> fwk.Status | None:
            if not request.gpus:
                return None
            node = self.gpus.of(slot)
            if node.fits(request):
                return None
            return _NOT_ENOUGH_LEFT if self._could_fit(request, len(node.left), node.size) else _NO_SUCH_GPU

        return check

    def filter(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> fwk.Status | None:
        check = self.slot_filter(pod.template)
        assert check is not None
        return check(node.slot)

    def passing_nodes(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Mask:
        request = self._request(pod.template)
        if not request.gpus:
            return np.ones(len(nodes), dtype=np.bool_)
        if self.cluster.journal.active:
            return super().passing_nodes(state, pod, nodes)
        best = self.gpus.best_left()
        if request.gpus > len(best):
            return np.zeros(len(nodes), dtype=np.bool_)
        passing: fwk.Mask = best[request.gpus - 1][nodes.index] >= request.share
        return passing

    def filter_nodes(
        self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes
    ) -> Iterator[tuple[fwk.Mask, fwk.Status]]:
        request = self._request(pod.template)
        if not request.gpus:
            return
        if not self.cluster.journal.active:
            rejected = ~self.passing_nodes(state, pod, nodes)
            could_fit = (nodes.read(self.gpus.counts) >= request.gpus) & (nodes.read(self.gpus.sizes) >= request.share)
            yield rejected & could_fit, _NOT_ENOUGH_LEFT
            yield rejected & ~could_fit, _NO_SUCH_GPU
            return
        check = self.slot_filter(pod.template)
        assert check is not None
        masks: dict[fwk.Status, fwk.Mask] = {}
        for position, info in nodes.infos():
            status = check(info.slot)
            if status is not None:
                if status not in masks:
                    masks[status] = np.zeros(len(nodes), dtype=np.bool_)
                masks[status][position] = True
        for status, mask in masks.items():
            yield mask, status

    def explain(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> list[fwk.Refusal]:
        request, gpus = self._request(pod.template), self.gpus.of(node.slot)
        left = ", ".join(map(str, gpus.left)) or "no GPUs"
        text = f"Needs {request.share} of {self.args.resource} on each of {request.gpus} GPU(s), left by GPU: {left}"
        return [fwk.Refusal(id="gpu-share", text=text)]

    # Score

    def slot_scorer(self, template: fwk.PodTemplate) -> Callable[[int], int] | None:
        return None if self.args.policy == RANDOM else template.derive((self, "score"), self._make_scorer)

    def score(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> int:
        scorer = self.slot_scorer(pod.template)
        return 0 if scorer is None else scorer(node.slot)

    def score_nodes(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Scores:
        scores: fwk.Scores = np.zeros(len(nodes), dtype=np.int64)
        scorer = self.slot_scorer(pod.template)
        if scorer is None:
            listed = [position for position, _ in nodes.infos()]
            scores[self._draw(pod, "node").choice(listed)] = 100
            return scores
        for position, info in nodes.infos():
            scores[position] = scorer(info.slot)
        return scores

    # Binding

    def reserve(self, state: fwk.CycleState, pod: fwk.Pod, node_name: str) -> fwk.Status | None:
        request = self._request(pod.template)
        node = self.nodes.get(node_name)
        if not request.gpus:
            return None
        if node is None:
            return fwk.reject("node(s) went away")
        with self.held.locked():
            devices = self._choose(pod, request, node.slot)
            if not devices:
                return _GONE
            self.held.reserve(pod.uid, node_name, Assignment(request, devices))
        self.gpus.follow_reservations |= pod.uid not in self.cluster.assumed
        state.write(NAME, devices)
        return None

    def unreserve(self, state: fwk.CycleState, pod: fwk.Pod, node_name: str) -> None:
        self.held.release(pod.uid)

    async def pre_bind(self, state: fwk.CycleState, pod: fwk.Pod, node_name: str) -> fwk.Status | None:
        devices: Indices | None = state.get(NAME)
        if devices is None:
            return None
        metadata = api.ObjectMeta(name=pod.name, namespace=pod.namespace, uid=pod.uid)
        notes = self.annotations(self._request(pod.template), devices, node_name)
        answer = await Write("patch", "Pod", api.Pod(metadata=metadata), {"metadata": {"annotations": notes}})
        if isinstance(answer, Failure):
            return fwk.error(f"annotating pod {pod.key}: {answer.message}")
        return None

    def annotations(self, request: GpuRequest, devices: Indices, node_name: str) -> dict[str, str]:
        """The annotations that device plugins read, with the keys that the args name."""
        now = self.handle.now()
        notes = {self.args.index_annotation: "-".join(map(str, devices))}
        if not self.args.is_milli:
            node = self.nodes.get(node_name)
            size = 0 if node is None else self.gpus.of(node.slot).size
            notes |= {
                "ALIYUN_COM_GPU_MEM_DEV": str(size),
                "ALIYUN_COM_GPU_MEM_POD": str(request.share),
                "ALIYUN_COM_GPU_MEM_ASSIGNED": "false",
                "ALIYUN_COM_GPU_MEM_ASSUME_TIME": str(int(now * 1e9)),
            }
        else:
            moment = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds")
            notes[self.args.assume_time_annotation] = moment
        return notes

    # Requests and placements

    def _request(self, template: fwk.PodTemplate) -> GpuRequest:
        return template.derive((self, "request"), lambda template: gpu_request(self.args, template))

    def _request_of(self, pod: fwk.Pod) -> GpuRequest:
        return self._request(pod.template)

    def _could_fit(self, request: GpuRequest, gpus: int, size: int) -> bool:
        return gpus >= request.gpus and size >= request.share

    def _choose(self, pod: fwk.Pod, request: GpuRequest, slot: int) -> Indices:
        """The GPUs for the pod; () if it does not fit. The pod may be on the node already, because it is assumed."""
        node, template = self.gpus.without(slot, pod.uid), pod.template
        if not node.fits(request):
            return ()
        if self.args.policy == RANDOM:
            fitting = [index for index, left in enumerate(node.left) if left >= request.share]
            return tuple(sorted(self._draw(pod, "gpu").sample(fitting, request.gpus)))
        assumed = template.requests.get("cpu", 0) if pod.uid in self.cluster.assumed else 0
        return self.policy.choose(self._placement(request, template, slot, node, assumed))

    def _placement(
        self, request: GpuRequest, template: fwk.PodTemplate, slot: int, node: NodeGpus, assumed_cpu: int = 0
    ) -> GpuPlacement:
        info = self.nodes.infos[slot]
        return GpuPlacement(
            template.requests.get("cpu", 0),
            node.milli(request.share),
            request.gpus,
            request.kind(node.size),
            self.cpu_left(slot) + assumed_cpu,
            node.milli_left,
            "" if info is None else info.labels.get(self.args.model_label, ""),
            node.kinds,
        )

    def cpu_left(self, slot: int) -> int:
        """Milli-cores that the pods of a node leave."""
        left: int = self._allocatable_cpu.values[slot] - self._requested_cpu.values[slot]
        return left

    def _make_scorer(self, template: fwk.PodTemplate) -> Callable[[int], int]:
        request = self._request(template)
        memo: dict[tuple[int, NodeGpus, str], int] = {}

        def score(slot: int) -> int:
            node = self.gpus.of(slot)
            info = self.nodes.infos[slot]
            model = "" if info is None else info.labels.get(self.args.model_label, "")
            key = (self.cpu_left(slot), node, model)
            found = memo.get(key)
            if found is None:
                if len(memo) >= _MAX_MEMO_ENTRIES:
                    memo.clear()
                found = memo[key] = self.policy.score(self._placement(request, template, slot, node))
            return found

        return score

    def _draw(self, pod: fwk.Pod, what: str) -> Random:
        """A generator of the pod's own: a decision that is repeated is the same decision."""
        return Random(f"{self.args.seed}/{pod.uid}/{what}")
