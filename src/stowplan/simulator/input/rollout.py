"""Whether an update replaces the pods of a workload, and which objects it replaces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from stowplan import api
from stowplan.api import codec, quantity
from stowplan.simulator.api_server import controller_of
from stowplan.simulator.defaults import with_defaults
from stowplan.simulator.pod_status import is_active
from stowplan.simulator.workloads import find_template

_AMOUNTS = ("requests", "limits", "overhead")
_GRACE_SECONDS = 30
_DEFAULTS = (("protocol", "TCP"), ("schedulerName", api.PodSpec().scheduler_name))


class Dependents:
    """The objects of a cluster by controller."""

    def __init__(self, items: Iterable[Any]) -> None:
        self._by_owner: dict[str, list[Any]] = {}
        for item in items:
            owner = controller_of(item)
            if owner is not None:
                self._by_owner.setdefault(owner.uid, []).append(item)

    def pods_below(self, uid: str) -> list[api.Pod]:
        """The active pods of a workload, including those of its ReplicaSets."""
        return [item for item in self._below(uid) if isinstance(item, api.Pod) and is_active(item)]

    def below(self, uid: str) -> set[str]:
        """The uids of a workload's pods and ReplicaSets."""
        return {item.metadata.uid for item in self._below(uid) if isinstance(item, api.Pod | api.ReplicaSet)}

    def _below(self, uid: str) -> list[Any]:
        direct = self._by_owner.get(uid, [])
        sets = [item.metadata.uid for item in direct if isinstance(item, api.ReplicaSet)]
        return [*direct, *(item for each in sets for item in self._by_owner.get(each, ()))]


def has_same_template(stored: Any, given: Any) -> bool:
    """Whether a manifest has the stored pod template, apart from defaults.

    Annotations are not compared: those added by other clients stay if a manifest omits them.
    """
    old, new = find_template(stored), find_template(given)
    if old is None or new is None:
        return old is new
    labels = old.template.metadata.labels, new.template.metadata.labels
    return labels[0] == labels[1] and _canonical(old.template.spec) == _canonical(new.template.spec)


def _canonical(spec: api.PodSpec) -> Any:
    """A spec with defaults and parsed quantities, for comparison."""
    grace = spec.termination_grace_period_seconds
    spec = replace(
        spec,
        restart_policy=spec.restart_policy or "Always",
        termination_grace_period_seconds=_GRACE_SECONDS if grace is None else grace,
    )
    return _plain(codec.builtins(with_defaults(spec)))


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if not isinstance(value, dict):
        return value
    return {
        key: {name: quantity.parse(amount) for name, amount in part.items()} if key in _AMOUNTS else _plain(part)
        for key, part in value.items()
        if (key, part) not in _DEFAULTS
    }
