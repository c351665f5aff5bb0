"""Fragmentation of idle GPUs with respect to a target workload, and the policy that keeps it low.

The measure is that of "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent"
(USENIX ATC '23): the part of a node's idle GPUs that a pod of the target workload, drawn by frequency, cannot use.
The measure itself is an exact integer in units of pods x thousandths of a GPU. Scores are truncated to integers, and a
change of 0 lies on such a bound: there the rounding of sums decides. They are therefore added as in the published
experiments: in double precision, class by class, separately for each cause of fragmentation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import exp
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stowplan.optional_plugins.fractional_gpu.request import WHOLE_MILLI

_MAX_MEMO_ENTRIES = 200_000
_SCALE_MILLI = 1000.0
"""The change of fragmentation that the sigmoid maps to 1."""

# Causes, in the order in which their sums are added up.
_LACKS_BOTH, _LACKS_GPU, _LACKS_CPU, _FITS_WITHOUT_GPU, _LACKS_CPU_WITHOUT_GPU, _OTHER_MODEL = range(6)
_CAUSES = np.array([_LACKS_BOTH, _LACKS_GPU, _LACKS_CPU, _LACKS_GPU], dtype=np.intp)
"""By 2 x (enough GPUs) + (enough CPU). Where both suffice, GPUs with too little left count as lacking."""


class TargetPod(NamedTuple):
    """A class of pods of the target workload."""

    cpu: int
    milli: int
    """Of each GPU."""
    gpus: int
    models: str = ""
    """Allowed GPU models, joined by |; any if empty."""


class TargetWorkload:
    """Classes of pods with their number, and the number of pods that they were taken from (0: all are listed)."""

    def __init__(self, counts: Iterable[tuple[TargetPod, int]], pods: int = 0) -> None:
        listed = list(counts)
        self.classes = tuple(listed)
        self.total = sum(count for _, count in listed)
        self.pods = pods or self.total
        self._cpu = np.array([pod.cpu for pod, _ in listed], dtype=np.int64)
        self._milli = np.array([pod.milli for pod, _ in listed], dtype=np.int64)[:, None]
        self._gpus = np.array([pod.gpus for pod, _ in listed], dtype=np.int64)
        self._counts = np.array([count for _, count in listed], dtype=np.int64)
        self._shares = self._counts / max(self.pods, 1) / (self.total / max(self.pods, 1) or 1.0)
        self._needs_gpu = self._milli[:, 0] > 0
        self._models = [frozenset(filter(None, pod.models.split("|"))) for pod, _ in listed]
        self._allowed: dict[str, NDArray[np.bool_]] = {}
        self._memo: dict[tuple[int, tuple[int, ...], str], int] = {}
        self._expected: dict[tuple[int, tuple[int, ...], str], float] = {}

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
        return cls(chosen, counted.total())

    def fragmented(self, cpu_left: int, left: tuple[int, ...], model: str) -> int:
        """Fragmented thousandths of a node's GPUs, times the number of pods of the target workload."""
        key = (cpu_left, left, model)
        found = self._memo.get(key)
        if found is None:
            if len(self._memo) >= _MAX_MEMO_ENTRIES:
                self._memo.clear()
            found = self._memo[key] = self._fragmented(cpu_left, left, model)
        return found

    def _fragmented(self, cpu_left: int, left: tuple[int, ...], model: str) -> int:
        fits = np.array(left, dtype=np.int64) >= self._milli
        usable = (fits.sum(axis=1) >= self._gpus) & (self._allowed_on(model) & (self._cpu <= cpu_left))
        return int(self._unusable(fits, usable, left) @ self._counts)

    def expected(self, cpu_left: int, left: tuple[int, ...], model: str) -> float:
        """Fragmented thousandths of a node's GPUs for a pod of the target workload, in double precision."""
        key = (cpu_left, left, model)
        found = self._expected.get(key)
        if found is None:
            if len(self._expected) >= _MAX_MEMO_ENTRIES:
                self._expected.clear()
            found = self._expected[key] = self._added_up(cpu_left, left, model)
        return found

    def _added_up(self, cpu_left: int, left: tuple[int, ...], model: str) -> float:
        """Sums by cause in the order of the classes (`bincount` adds in the order of its input), then their sum.

        Not by `sum`, which compensates rounding since Python 3.12.
        """
        fits = np.array(left, dtype=np.int64) >= self._milli
        has_cpu, allowed = self._cpu <= cpu_left, self._allowed_on(model)
        has_gpus = fits.sum(axis=1) >= self._gpus
        causes = _CAUSES[2 * has_gpus + has_cpu]
        causes = np.where(allowed, causes, np.where(self._needs_gpu, _OTHER_MODEL, _LACKS_CPU_WITHOUT_GPU - has_cpu))
        amounts = self._unusable(fits, has_gpus & has_cpu & allowed, left)
        total = 0.0
        for part in np.bincount(causes, self._shares * amounts).tolist():
            total += part
        return total

    def _allowed_on(self, model: str) -> NDArray[np.bool_]:
        """By class: whether it needs GPUs and may use this model."""
        allowed = self._allowed.get(model)
        if allowed is None:
            permitted = np.array([not models or model in models for models in self._models], dtype=np.bool_)
            allowed = self._allowed[model] = permitted & self._needs_gpu
        return allowed

    def _unusable(self, fits: NDArray[np.bool_], usable: NDArray[np.bool_], left: tuple[int, ...]) -> NDArray[np.int64]:
        """By class: idle GPUs that it cannot use. A class that fits cannot use GPUs with too little left."""
        unfit: NDArray[np.int64] = np.where(fits, 0, left).sum(axis=1)
        return np.where(usable, unfit, sum(left))

    def gradients(
        self, cpu_left: int, left: tuple[int, ...], model: str, cpu: int, milli: int, count: int
    ) -> list[tuple[int, tuple[int, ...]]]:
        """(score from 0 to 100, GPUs) of each way to place a pod, by GPU index; a share has several ways."""
        before = self.expected(cpu_left, left, model)
        if not count:
            return [(self._score(before - self.expected(cpu_left - cpu, left, model)), ())]
        fitting = [index for index, each in enumerate(left) if each >= milli]
        if len(fitting) < count:
            return []
        is_share = count == 1 and milli < WHOLE_MILLI
        ways = [(index,) for index in fitting] if is_share else [tuple(fitting[:count])]
        distinct: dict[int, float] = {}
        scored = []
        for way in ways:
            gain = distinct.get(left[way[0]])
            if gain is None:
                after = list(left)
                for index in way:
                    after[index] -= milli
                gain = distinct[left[way[0]]] = before - self.expected(cpu_left - cpu, tuple(after), model)
            scored.append((self._score(gain), way))
        return scored

    def _score(self, gain: float) -> int:
        return int(1 / (1 + exp(-(gain / _SCALE_MILLI))) * 100)
