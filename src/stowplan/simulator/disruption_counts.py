"""The pods under a disruption budget, counted, and what the budget makes of the numbers."""

from __future__ import annotations

from typing import NamedTuple

from stowplan import api
from stowplan.api.selectors import compile_label_selector


class Scale(NamedTuple):
    """How many pods a controller wants."""

    uid: str
    replicas: int | None
    """None where nobody knows: then it is taken to want those that it has."""
    exists: bool = True
    """False for controllers of kinds that have no scale: no budget can be worked out over their pods."""


class BudgetedPod(NamedTuple):
    """What counts about a pod."""

    healthy: bool
    scale: Scale | None
    """Of its controller; None for a pod on its own, and where no budget asks."""


class _Share:
    """The pods of one controller, and how many it wants."""

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
        """Whether pods are expected that are not there: all that the controllers of those which are there want."""
        self._members: dict[str, BudgetedPod] = {}
        self._healthy = 0
        self._shares: dict[str, _Share] = {}
        self._wanted = 0
        self._unscaled = 0

    def put(self, pod: str, member: BudgetedPod) -> bool:
        """A pod is under the budget, perhaps as it was before; whether that is news."""
        known = self._members.get(pod)
        if known == member:
            return False
        if known is not None:
            self._count(known, -1)
        self._members[pod] = member
        self._count(member, 1)
        return True

    def remove(self, pod: str) -> None:
        """A pod is under the budget no more."""
        self._count(self._members.pop(pod), -1)

    def status(self) -> api.PodDisruptionBudgetStatus:
        """What is left of the budget."""
        expected, desired = self._expectation()
        allowed = self._healthy - desired if expected > 0 and not self._unscaled else 0
        return api.PodDisruptionBudgetStatus(
            disruptions_allowed=max(0, allowed),
            current_healthy=self._healthy,
            desired_healthy=desired,
            expected_pods=expected,
        )

    def _expectation(self) -> tuple[int, int]:
        """How many pods there should be, and how many of them healthy."""
        least, most_missing = self.spec.min_available, self.spec.max_unavailable
        if most_missing is not None:
            return self._wanted, max(0, self._wanted - scaled(most_missing, self._wanted))
        if isinstance(least, str):
            return self._wanted, scaled(least, self._wanted)
        return (0, 0) if least is None else (len(self._members), least)

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
    """A number of pods; what a percentage comes to is rounded up."""
    if isinstance(amount, int):
        return amount
    percent = int(amount.removesuffix("%").lstrip("0") or "0")
    return -(-percent * total // 100)
