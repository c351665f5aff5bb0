"""The group policy: disruption budgets, which preemption tries to respect."""

from msgspec import field

from stowplan.api.meta import Int32, LabelSelector, ObjectMeta, Wire


class PodDisruptionBudgetSpec(Wire, frozen=True, kw_only=True):
    """The pods under a budget."""

    selector: LabelSelector | None = None


class PodDisruptionBudgetStatus(Wire, frozen=True, kw_only=True):
    """What is left of a budget, and the evictions (pod name to time) already counted against it."""

    disruptions_allowed: Int32 = 0
    disrupted_pods: dict[str, str] = field(default_factory=dict)


class PodDisruptionBudget(Wire, frozen=True, kw_only=True):
    """How many pods of a set may be disrupted at once."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()
