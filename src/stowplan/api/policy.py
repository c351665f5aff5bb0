"""The group policy: PodDisruptionBudgets.

Upstream: k8s.io/api/policy/v1/types.go
"""

from typing import TypeAlias

from stowplan.api.meta import Int32, LabelSelector, ObjectMeta, Wire
from stowplan.api.read_only import EMPTY

__all__ = ["IntOrPercent", "PodDisruptionBudget", "PodDisruptionBudgetSpec", "PodDisruptionBudgetStatus"]

IntOrPercent: TypeAlias = Int32 | str
"""A number of pods, or a percentage of them such as `30%`."""


class PodDisruptionBudgetSpec(Wire, frozen=True, kw_only=True):
    """The selector of a budget, and the pods that must be available or may be unavailable."""

    selector: LabelSelector | None = None
    min_available: IntOrPercent | None = None
    max_unavailable: IntOrPercent | None = None


class PodDisruptionBudgetStatus(Wire, frozen=True, kw_only=True):
    """Allowed disruptions, the numbers behind them, and processed evictions (pod name to time)."""

    disruptions_allowed: Int32 = 0
    current_healthy: Int32 = 0
    desired_healthy: Int32 = 0
    expected_pods: Int32 = 0
    disrupted_pods: dict[str, str] = EMPTY


class PodDisruptionBudget(Wire, frozen=True, kw_only=True):
    """A disruption budget."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()
