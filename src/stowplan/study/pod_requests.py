"""Requests of pods, as results have them. Pods with the same containers share one entry."""

from __future__ import annotations

from typing import Any, NamedTuple

from stowplan import api
from stowplan.cache.requests import scheduling_requests
from stowplan.config.args.fractional_gpu import GPU_SHARE_RESOURCES
from stowplan.study.integrals import TimedQuantity, TimeIntegrals

REQUEST_COLUMNS = ("request_cpu_m", "request_memory", "request_gpu_m")
WHOLE_GPUS = ("nvidia.com/gpu", "amd.com/gpu")
GPU_RESOURCES = (*WHOLE_GPUS, GPU_SHARE_RESOURCES[0])
"""Resources that are GPUs or thousandths of one."""
_MAX_CACHED_REQUESTS = 4096


class PodRequests(NamedTuple):
    """What a pod requests."""

    containers: Any
    amounts: dict[str, int]
    """Milli-cores, bytes, units."""
    row: tuple[int, int, int]
    """The values of REQUEST_COLUMNS."""
    quantities: tuple[tuple[TimedQuantity, int], ...]
    """`requested.<resource>` with the amount of this pod."""


class RequestBook:
    """Requests by containers."""

    def __init__(self, integrals: TimeIntegrals) -> None:
        self._integrals = integrals
        self._known: dict[int, PodRequests] = {}

    def of(self, pod: api.Pod) -> PodRequests:
        containers = pod.spec.containers
        found = self._known.get(id(containers))
        if found is None or found.containers is not containers:
            if len(self._known) > _MAX_CACHED_REQUESTS:
                self._known.clear()
            found = self._known[id(containers)] = self._made(pod)
        return found

    def _made(self, pod: api.Pod) -> PodRequests:
        amounts, _ = scheduling_requests(pod.spec)
        row = (amounts.get("cpu", 0), amounts.get("memory", 0), gpu_milli(amounts))
        quantities = tuple((self._integrals.of(f"requested.{name}"), amount) for name, amount in amounts.items())
        return PodRequests(pod.spec.containers, amounts, row, quantities)


def gpu_milli(amounts: dict[str, int]) -> int:
    """Thousandths of GPUs of any vendor."""
    return sum(amounts.get(name, 0) * (1000 if name in WHOLE_GPUS else 1) for name in GPU_RESOURCES)
