"""The group policy: disruption budgets, which preemption tries to respect."""

from typing import TypeAlias

from msgspec import field

from stowplan.api.meta import Int32, LabelSelector, ObjectMeta, Wire

__all__ = ["IntOrPercent", "PodDisruptionBudget", "PodDisruptionBudgetSpec", "PodDisruptionBudgetStatus"]

IntOrPercent: TypeAlias = Int32 | str
"""A number of pods, or a percentage of them such as `30%`."""


class PodDisruptionBudgetSpec(Wire, frozen=True, kw_only=True):
    """The pods under a budget, and how many of them must be left, or may be missing."""

    selector: LabelSelector | None = None
    min_available: IntOrPercent | None = None
    max_unavailable: IntOrPercent | None = None


class PodDisruptionBudgetStatus(Wire, frozen=True, kw_only=True):
    """What is left of a budget, the numbers behind it, and the evictions (pod name to time) counted against it."""

    disruptions_allowed: Int32 = 0
    current_healthy: Int32 = 0
    desired_healthy: Int32 = 0
    expected_pods: Int32 = 0
    disrupted_pods: dict[str, str] = field(default_factory=dict)


class PodDisruptionBudget(Wire, frozen=True, kw_only=True):
    """How many pods of a set may be disrupted at once."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()
