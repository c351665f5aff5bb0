"""Matching of taints and tolerations.

Upstream: k8s.io/component-helpers/scheduling/corev1/helpers.go, k8s.io/api/core/v1/toleration.go
"""

from collections.abc import Container, Iterable

from stowplan.api.affinity import Toleration
from stowplan.api.node import Taint

__all__ = ["find_untolerated", "tolerated", "tolerates"]

NO_SCHEDULE = "NoSchedule"
PREFER_NO_SCHEDULE = "PreferNoSchedule"
NO_EXECUTE = "NoExecute"

REPELLING_EFFECTS = frozenset((NO_SCHEDULE, NO_EXECUTE))
"""The effects that Filter rejects; PreferNoSchedule only lowers the score."""


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether the toleration tolerates the taint. An empty key or effect matches all; Gt and Lt match none."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.value == taint.value


def tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Whether one of the tolerations tolerates the taint."""
    for toleration in tolerations:  # noqa: SIM110 (a generator would take as long as the comparisons)
        if tolerates(toleration, taint):
            return True
    return False


def find_untolerated(
    taints: Iterable[Taint], tolerations: Iterable[Toleration], effects: Container[str] = REPELLING_EFFECTS
) -> Taint | None:
    """The first taint with one of the effects that is not tolerated."""
    for taint in taints:
        if taint.effect in effects and not tolerated(taint, tolerations):
            return taint
    return None
