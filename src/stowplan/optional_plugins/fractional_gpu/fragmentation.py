"""Fragmentation of idle GPUs with respect to a target workload, and the policy that keeps it low.

The measure is that of "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent"
(USENIX ATC '23): the part of a node's idle GPUs that a pod of the target workload, drawn by frequency, cannot use.
All sums are exact integers in units of pods x thousandths of a GPU, so results do not depend on the order of additions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import exp
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stowplan.optional_plugins.fractional_gpu.request import WHOLE_MILLI

_MAX_MEMO = 200_000
_SCALE_MILLI = 1000.0
"""The change of fragmentation that the sigmoid maps to 1."""


class TargetPod(NamedTuple):
    """A class of pods of the target workload."""

    cpu: int
    milli: int
    """Of each GPU."""
    gpus: int
    models: str = ""
    """Allowed GPU models, joined by |; any if empty."""


class TargetWorkload:
    """Classes of pods with their number."""

    def __init__(self, counts: Iterable[tuple[TargetPod, int]]) -> None:
        listed = list(counts)
        self.classes = tuple(listed)
        self.total = sum(count for _, count in listed)
        self._cpu = np.array([pod.cpu for pod, _ in listed], dtype=np.int64)
        self._milli = np.array([pod.milli for pod, _ in listed], dtype=np.int64)[:, None]
        self._gpus = np.array([pod.gpus for pod, _ in listed], dtype=np.int64)
        self._counts = np.array([count for _, count in listed], dtype=np.int64)
        self._needs_gpu = self._milli[:, 0] > 0
        self._models = [frozenset(filter(None, pod.models.split("|"))) for pod, _ in listed]
        self._allowed: dict[str, NDArray[np.bool_]] = {}
        self._memo: dict[tuple[int, tuple[int, ...], str], int] = {}

    @classmethod
    def of(cls, pods: Iterable[TargetPod], share: float = 0.95) -> TargetWorkload:
        """The most frequent classes of a list of pods, which together make up at least this share of it."""
        counted = Counter(pods)
        ordered = sorted(counted.items(), key=lambda item: (item[1], item[0]), reverse=True)
        wanted, taken = share * counted.total(), 0
        chosen = []
        for pod, count in ordered:
            if taken >= wanted:
                break
            chosen.append((pod, count))
            taken += count
        return cls(chosen)

    def fragmented(self, cpu_left: int, left: tuple[int, ...], model: str) -> int:
        """Fragmented thousandths of a node's GPUs, times the number of pods of the target workload."""
        key = (cpu_left, left, model)
        found = self._memo.get(key)
        if found is None:
            if len(self._memo) >= _MAX_MEMO:
                self._memo.clear()
            found = self._memo[key] = int(self._many(cpu_left, np.array([left], dtype=np.int64), model)[0])
        return found

    def _many(self, cpu_left: int, lefts: NDArray[np.int64], model: str) -> NDArray[np.int64]:
        """The same for many states of a node's GPUs: (state, GPU)."""
        allowed = self._allowed.get(model)
        if allowed is None:
            permitted = np.array([not models or model in models for models in self._models], dtype=np.bool_)
            allowed = self._allowed[model] = permitted & self._needs_gpu
        idle = lefts.sum(axis=1)
        fits = lefts[:, None, :] >= self._milli
        usable = (fits.sum(axis=2) >= self._gpus) & (allowed & (self._cpu <= cpu_left))
        waste = np.where(usable, np.where(fits, 0, lefts[:, None, :]).sum(axis=2), idle[:, None])
        result: NDArray[np.int64] = waste @ self._counts
        return result

    def gradients(
        self, cpu_left: int, left: tuple[int, ...], model: str, cpu: int, milli: int, count: int
    ) -> list[tuple[int, tuple[int, ...]]]:
        """(score from 0 to 100, GPUs) of each way to place a pod, by GPU index; a share has several ways."""
        before = self.fragmented(cpu_left, left, model)
        if not count:
            return [(self._score(before - self.fragmented(cpu_left - cpu, left, model)), ())]
        fitting = [index for index, each in enumerate(left) if each >= milli]
        if len(fitting) < count:
            return []
        is_share = count == 1 and milli < WHOLE_MILLI
        ways = [(index,) for index in fitting] if is_share else [tuple(fitting[:count])]
        distinct: dict[int, int] = {}
        scored = []
        for way in ways:
            gain = distinct.get(left[way[0]])
            if gain is None:
                after = list(left)
                for index in way:
                    after[index] -= milli
                gain = distinct[left[way[0]]] = before - self.fragmented(cpu_left - cpu, tuple(after), model)
            scored.append((self._score(gain), way))
        return scored

    def _score(self, gain: int) -> int:
        return int(100 / (1 + exp(-(gain / self.total) / _SCALE_MILLI))) if self.total else 50
