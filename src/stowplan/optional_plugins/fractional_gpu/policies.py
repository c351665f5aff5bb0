"""Policies: how a node is scored for a pod, and which of its GPUs the pod gets.

Amounts of GPUs are thousandths. Scores are integers from 0 to 100, truncated where the formula has fractions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from stowplan.config.args import FractionalGPUArgs
from stowplan.optional_plugins.fractional_gpu.fragmentation import TargetPod, TargetWorkload
from stowplan.optional_plugins.fractional_gpu.request import WHOLE_MILLI


class GpuPlacement(NamedTuple):
    """A pod and a node, as policies see them."""

    cpu: int
    """The pod's request in milli-cores."""
    milli: int
    """Of each of the pod's GPUs."""
    gpus: int
    kind: str
    cpu_left: int
    """Milli-cores of the node without the pod."""
    left: tuple[int, ...]
    model: str
    kinds: frozenset[str]

    @property
    def best_fit(self) -> tuple[int, ...]:
        """The GPUs with the least left that fit, lowest index first."""
        fitting = sorted((each, index) for index, each in enumerate(self.left) if each >= self.milli)
        return tuple(index for _, index in fitting[: self.gpus])


class GpuPolicy:
    """Scores nodes and chooses GPUs. The default score is 0, the default GPUs are those with the least left."""

    scores_cpu_pods = False
    """Whether pods without GPUs are scored."""

    def __init__(self, args: FractionalGPUArgs) -> None:
        self.max_cpu, self.max_milli = args.max_cpu_milli, args.max_gpu_milli

    def score(self, placement: GpuPlacement) -> int:
        return 0

    def choose(self, placement: GpuPlacement) -> tuple[int, ...]:
        return placement.best_fit


class DotProduct(GpuPolicy):
    """Prefers small products of free and requested amounts."""

    scores_cpu_pods = True

    def score(self, placement: GpuPlacement) -> int:
        cpu = placement.cpu_left / self.max_cpu * (placement.cpu / self.max_cpu)
        gpu = sum(placement.left) / self.max_milli * (placement.milli * placement.gpus / self.max_milli)
        return _bounded(100 * (1 - (cpu + gpu) / 2))


class BestFit(GpuPolicy):
    """Nodes on which little is left are better."""

    scores_cpu_pods = True

    def score(self, placement: GpuPlacement) -> int:
        cpu = (placement.cpu_left - placement.cpu) / self.max_cpu
        gpu = (sum(placement.left) - placement.milli * placement.gpus) / self.max_milli
        return _bounded((1 - (cpu * 0.5 + gpu * 0.5)) * 100)


class Packing(GpuPolicy):
    """GPUs in use first, then idle GPUs of nodes in use, then idle nodes with few GPUs."""

    def score(self, placement: GpuPlacement) -> int:
        if not placement.gpus:
            return 0
        if all(each == WHOLE_MILLI for each in placement.left):
            return max(33 - len(placement.left), len(placement.left))
        chosen = [placement.left[index] for index in placement.best_fit]
        idle = sum(each == WHOLE_MILLI for each in chosen)
        if idle:
            return max(50 - idle, 33)
        return max(100 - sum(each * 100 // WHOLE_MILLI for each in chosen) // 10, 50)


class Clustering(GpuPolicy):
    """Nodes with pods of the same kind first: shares, or the same number of whole GPUs."""

    def score(self, placement: GpuPlacement) -> int:
        if not placement.gpus:
            return 0
        used = max(25 * (self.max_milli - sum(placement.left)) // self.max_milli, 0)
        if placement.kind in placement.kinds:
            return used + (75 if len(placement.kinds) == 1 else 50)
        return used + (0 if placement.kinds else 25)


class FragmentationGradientDescent(GpuPolicy):
    """The smallest growth of fragmentation with respect to a target workload."""

    scores_cpu_pods = True

    def __init__(self, args: FractionalGPUArgs) -> None:
        super().__init__(args)
        targets = ((TargetPod(each.cpu, each.milli, each.gpus, each.models), each.count) for each in args.workload)
        self.workload = TargetWorkload(targets, args.workload_pods)

    def score(self, placement: GpuPlacement) -> int:
        return max((score for score, _ in self._ways(placement)), default=0)

    def choose(self, placement: GpuPlacement) -> tuple[int, ...]:
        ways = self._ways(placement)
        return max(ways, key=lambda way: way[0])[1] if ways else ()

    def _ways(self, placement: GpuPlacement) -> list[tuple[int, tuple[int, ...]]]:
        p = placement
        return self.workload.gradients(p.cpu_left, p.left, p.model, p.cpu, p.milli, p.gpus)


RANDOM = "Random"
"""Scores one feasible node, drawn for each pod, and draws the GPU: see the plugin."""

POLICIES: dict[str, Callable[[FractionalGPUArgs], GpuPolicy]] = {
    "FGD": FragmentationGradientDescent,
    "BestFit": BestFit,
    "Packing": Packing,
    "Clustering": Clustering,
    "DotProduct": DotProduct,
    RANDOM: GpuPolicy,
}


def _bounded(score: float) -> int:
    return min(max(int(score), 0), 100)
