"""Running counts of the pods under one disruption budget, and the status that follows."""

from __future__ import annotations

from typing import NamedTuple

from stowplan import api
from stowplan.api.selectors import compile_label_selector


class Scale(NamedTuple):
    """The scale of a controller."""

    uid: str
    replicas: int | None
    """Desired replicas; None if unknown, in which case the current number is assumed."""
    exists: bool = True
    """False for kinds without a scale subresource: no budget can be computed over their pods."""


class BudgetedPod(NamedTuple):
    """A pod under a budget."""

    healthy: bool
    scale: Scale | None
    """The scale of its controller; None without a controller, or if no budget needs it."""


class _Share:
    """The counted pods of one controller, and its desired replicas."""

    __slots__ = ("pods", "replicas")

    def __init__(self) -> None:
        self.pods = 0
        self.replicas: int | None = 0

    @property
    def expected(self) -> int:
        return self.pods if self.replicas is None else self.replicas


class DisruptionCounts:
    """Running counts for one budget."""

    def __init__(self, budget: api.PodDisruptionBudget) -> None:
        self.name, self.namespace = budget.metadata.name, budget.metadata.namespace
        self.spec = spec = budget.spec
        self.selector = compile_label_selector(spec.selector)
        self.counts_scale = spec.max_unavailable is not None or isinstance(spec.min_available, str)
        """Whether the expected number of pods is the desired replicas of their controllers."""
        self._members: dict[str, BudgetedPod] = {}
        self._healthy = 0
        self._shares: dict[str, _Share] = {}
        self._wanted = 0
        self._unscaled = 0

    def put(self, pod: str, member: BudgetedPod) -> bool:
        """Add or update a pod; whether the counts changed."""
        known = self._members.get(pod)
        if known == member:
            return False
        if known is not None:
            self._count(known, -1)
        self._members[pod] = member
        self._count(member, 1)
        return True

    def remove(self, pod: str) -> None:
        """Remove a pod."""
        self._count(self._members.pop(pod), -1)

    def status(self) -> api.PodDisruptionBudgetStatus:
        """The budget's status."""
        expected, desired = self._expectation()
        allowed = self._healthy - desired if expected > 0 and not self._unscaled else 0
        return api.PodDisruptionBudgetStatus(
            disruptions_allowed=max(0, allowed),
            current_healthy=self._healthy,
            desired_healthy=desired,
            expected_pods=expected,
        )

    def _expectation(self) -> tuple[int, int]:
        """(expectedPods, desiredHealthy)."""
        min_available, max_unavailable = self.spec.min_available, self.spec.max_unavailable
        if max_unavailable is not None:
            return self._wanted, max(0, self._wanted - scaled(max_unavailable, self._wanted))
        if isinstance(min_available, str):
            return self._wanted, scaled(min_available, self._wanted)
        return (0, 0) if min_available is None else (len(self._members), min_available)

    def _count(self, member: BudgetedPod, step: int) -> None:
        self._healthy += step * member.healthy
        scale = member.scale
        if scale is None or not self.counts_scale:
            return
        self._unscaled += step * (not scale.exists)
        share = self._shares.setdefault(scale.uid, _Share())
        self._wanted -= share.expected
        share.pods += step
        if not share.pods:
            del self._shares[scale.uid]
            return
        if step > 0:
            share.replicas = scale.replicas
        self._wanted += share.expected


def scaled(amount: api.IntOrPercent, total: int) -> int:
    """An absolute number of pods; percentages are rounded up."""
    if isinstance(amount, int):
        return amount
    percent = int(amount.removesuffix("%").lstrip("0") or "0")
    return -(-percent * total // 100)
