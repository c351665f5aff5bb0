"""The group scheduling.k8s.io."""

from stowplan.api.meta import Int32, ObjectMeta, Wire


class PriorityClass(Wire, frozen=True, kw_only=True):
    """A name for a priority."""

    metadata: ObjectMeta = ObjectMeta()
    value: Int32 = 0
    global_default: bool = False
    preemption_policy: str | None = None
