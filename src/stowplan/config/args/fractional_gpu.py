"""Args of the optional plugin FractionalGPU."""

from typing import Self

import msgspec

from stowplan.api.meta import Int64
from stowplan.config.args.in_tree import PluginArgs
from stowplan.config.errors import Problems
from stowplan.config.releases import LATEST, Release
from stowplan.config.types import Strict

MILLI, MEMORY = "Milli", "Memory"
GPU_POLICIES = ("BestFit", "Clustering", "DotProduct", "FGD", "Packing", "Random")

_DEFAULTS = {
    MILLI: {
        "resource": "alibabacloud.com/gpu-milli",
        "gpu_count": "alibabacloud.com/gpu-count",
        "index_annotation": "alibabacloud.com/gpu-index",
        "assume_time_annotation": "alibabacloud.com/assume-time",
    },
    MEMORY: {
        "resource": "aliyun.com/gpu-mem",
        "gpu_count": "aliyun.com/gpu-count",
        "index_annotation": "ALIYUN_COM_GPU_MEM_IDX",
        "assume_time_annotation": "ALIYUN_COM_GPU_MEM_ASSUME_TIME",
    },
}
GPU_SHARE_RESOURCES = tuple(names["resource"] for names in _DEFAULTS.values())
"""Default names of the extended resources for shares of GPUs: thousandths, then memory."""


class TargetPodArgs(Strict, frozen=True, kw_only=True):
    """A class of pods of the target workload."""

    cpu: Int64 = 0
    """Milli-cores."""
    milli: Int64 = 0
    """Thousandths of each GPU."""
    gpus: Int64 = 0
    models: str = ""
    """Allowed GPU models, joined by |; any if empty."""
    count: Int64 = 1
    """The number of such pods."""


class FractionalGPUArgs(PluginArgs, frozen=True, kw_only=True):
    """The policy, and the names of resources, labels and annotations. Empty names mean those of known extenders."""

    policy: str = "BestFit"
    """How nodes are scored and GPUs are chosen."""
    unit: str = MILLI
    """Whether shares are thousandths of a GPU or an amount of its memory."""
    resource: str = ""
    """Extended resource: a node's total of all its GPUs, and a pod's total. As an annotation of a pod: of each GPU."""
    gpu_count: str = ""
    """Extended resource or label with a node's number of GPUs; annotation with a pod's number."""
    model_label: str = "alibabacloud.com/gpu-card-model"
    """Label of nodes with the model of their GPUs."""
    index_annotation: str = ""
    """Annotation of pods with the indices of their GPUs, joined by "-"."""
    assume_time_annotation: str = ""
    """Annotation of pods with the time of the assignment."""
    max_cpu_milli: Int64 = 128_000
    """CPU of the largest node, in the formulas of DotProduct and BestFit."""
    max_gpu_milli: Int64 = 8_000
    """GPUs of the largest node, in the formulas of DotProduct, BestFit and Clustering."""
    seed: Int64 = 0
    """Of the policy Random."""
    workload: tuple[TargetPodArgs, ...] = ()
    """The target workload of FGD."""
    workload_pods: Int64 = 0
    """Number of pods that the target workload was derived from, omitted pods included; 0: it contains all of them.
    Scores of exactly even nodes depend on the rounding that this number causes."""

    @property
    def is_milli(self) -> bool:
        return self.unit == MILLI

    def completed(self) -> Self:
        names = {field: name for field, name in _DEFAULTS.get(self.unit, {}).items() if not getattr(self, field)}
        return msgspec.structs.replace(self, **names) if names else self

    def check(self, path: str, problems: Problems, release: Release = LATEST) -> None:
        if self.policy not in GPU_POLICIES:
            problems.invalid(f"{path}.policy", self.policy, f"must be one of {', '.join(GPU_POLICIES)}")
        if self.unit not in _DEFAULTS:
            problems.invalid(f"{path}.unit", self.unit, f"must be one of {', '.join(_DEFAULTS)}")
        for field, value in (("maxCpuMilli", self.max_cpu_milli), ("maxGpuMilli", self.max_gpu_milli)):
            if value <= 0:
                problems.invalid(f"{path}.{field}", value, "must be greater than 0")
        if self.policy == "FGD" and not self.workload:
            problems.invalid(f"{path}.workload", "", "policy FGD needs a target workload")
        for index, pod in enumerate(self.workload):
            if min(pod.cpu, pod.milli, pod.gpus, pod.count) < 0:
                problems.invalid(f"{path}.workload[{index}]", "", "amounts must not be negative")
        listed = sum(pod.count for pod in self.workload)
        if self.workload_pods and self.workload_pods < listed:
            problems.invalid(f"{path}.workloadPods", self.workload_pods, f"the target workload has {listed} pods")
