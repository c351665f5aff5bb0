"""The records of a trace: nodes and arrivals of pods."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from stowplan import api

NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
NO_AFFINITY: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({})

GPU_MILLI: Final = "alibabacloud.com/gpu-milli"
"""Thousandths of a GPU: of a node in total, and of a pod over all its GPUs."""
GPU_MODEL: Final = "alibabacloud.com/gpu-card-model"
"""Label of nodes with the model of their GPUs."""
GPU: Final = "nvidia.com/gpu"
"""Whole GPUs, of traces that know no shares."""

MAX_TRACE_NODES: Final = 1_000_000
MAX_TRACE_SECONDS: Final = 1e11
"""3,000 years; times in other units than seconds exceed it."""
MAX_AMOUNT: Final = 2**63 - 1
"""Of a resource, as in Kubernetes."""
MAX_GANG_PODS: Final = 100_000
"""Of one arrival. A larger number is taken for an error of the file: its pods would not fit into memory."""

MIB: Final = 1 << 20
GIB: Final = 1 << 30


class TraceNode(NamedTuple):
    """A node of a trace."""

    name: str
    allocatable: Mapping[str, int]
    """Milli-cores for cpu, bytes for memory, units for other resources; "pods" is 110 by default."""
    labels: Mapping[str, str] = NOTHING
    time: float = 0.0
    """Seconds from the start of the trace at which the node joins."""
    node: api.Node | None = None
    """The node itself, where the trace has it; then the fields above describe it."""

    def problem(self) -> str:
        """A value that no cluster has; empty if there is none."""
        if not 0 <= self.time <= MAX_TRACE_SECONDS:
            return f"the time {self.time:g} is not from 0 to {MAX_TRACE_SECONDS:g} seconds"
        return _problem_of_amounts("the amount", self.allocatable)


class Arrival(NamedTuple):
    """The arrival of a pod, or of `gang` equal pods that start together."""

    time: float
    """Seconds from the start of the trace."""
    key: str
    """Unique in the trace."""
    job: str
    """Shared by the pods of one job."""
    requests: Mapping[str, int]
    """Of one pod: milli-cores for cpu, bytes for memory, units for other resources."""
    duration: float | None
    """Seconds of work; None: the pod does not end."""
    gang: int = 1
    priority: int = 0
    tenant: str = ""
    labels: Mapping[str, str] = NOTHING
    affinity: Mapping[str, tuple[str, ...]] = NO_AFFINITY
    """Allowed values by node label."""
    outcome: str = ""
    """The outcome in the trace: succeeded, failed, killed or pending."""
    waited: float | None = None
    """Seconds between arrival and start in the trace, for validation; never used by a simulation."""
    pod: api.Pod | None = None
    """The pod itself, where the trace has it; then the fields above describe it."""

    def problem(self) -> str:
        """A value that no cluster has; empty if there is none."""
        if not 0 <= self.time <= MAX_TRACE_SECONDS:
            return f"the time {self.time:g} is not from 0 to {MAX_TRACE_SECONDS:g} seconds"
        if self.duration is not None and not 0 <= self.duration <= MAX_TRACE_SECONDS:
            return f"the duration {self.duration:g} is not from 0 to {MAX_TRACE_SECONDS:g} seconds"
        if not 1 <= self.gang <= MAX_GANG_PODS:
            return f"{self.gang:,} pods; from 1 to {MAX_GANG_PODS:,} can be read"
        texts = self.key + self.job + self.tenant
        if not texts.isascii() and any("\ud800" <= char <= "\udfff" for char in texts):
            return "key, job or tenant is not text in UTF-8"
        if problem := _problem_of_amounts("the request", self.requests):
            return problem
        return "" if -(2**31) <= self.priority < 2**31 else f"the priority {self.priority} is not of 32 bits"


def _problem_of_amounts(subject: str, amounts: Mapping[str, int]) -> str:
    wrong = next((name for name, amount in amounts.items() if not 0 <= amount <= MAX_AMOUNT), None)
    return "" if wrong is None else f"{subject} of {wrong} is not from 0 to 2^63-1"
