"""Which taints a toleration covers."""

from collections.abc import Container, Iterable

from stowplan.api.affinity import Toleration
from stowplan.api.node import Taint

__all__ = ["find_untolerated", "tolerated", "tolerates"]

NO_SCHEDULE = "NoSchedule"
PREFER_NO_SCHEDULE = "PreferNoSchedule"
NO_EXECUTE = "NoExecute"

REPELLING_EFFECTS = frozenset((NO_SCHEDULE, NO_EXECUTE))
"""The effects that keep a pod off a node, as opposed to making the node less attractive."""


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether the toleration covers the taint. An empty key or effect covers any; Gt and Lt cover none."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.value == taint.value


def tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Whether any of the tolerations covers the taint."""
    return any(tolerates(toleration, taint) for toleration in tolerations)


def find_untolerated(
    taints: Iterable[Taint], tolerations: Iterable[Toleration], effects: Container[str] = REPELLING_EFFECTS
) -> Taint | None:
    """The first taint with one of the effects that no toleration covers."""
    for taint in taints:
        if taint.effect in effects and not tolerated(taint, tolerations):
            return taint
    return None
