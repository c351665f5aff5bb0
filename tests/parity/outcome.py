"""A scheduler's decision about a pod, without names and times that differ between sides."""

from __future__ import annotations

from dataclasses import dataclass

from tests.builders import Json

PLACED, PENDING, GATED, UNDECIDED = "placed", "pending", "gated", "undecided"

_TOLD_OF_CONDITION = ("status", "reason", "message", "observedGeneration")
_TOLD_OF_EVENT = ("type", "reason", "action", "note", "reportingController")

Told = dict[str, object]


@dataclass(frozen=True)
class Outcome:
    """The condition and the event of pending pods; both have the reason."""

    kind: str
    node: str = ""
    nominated: str = ""
    condition: Told | None = None
    event: Told | None = None

    @property
    def message(self) -> str:
        return str((self.condition or {}).get("message", ""))

    def __str__(self) -> str:
        if self.kind == PLACED:
            return f"placed on {self.node}"
        if self.kind != PENDING:
            return self.kind
        return f"pending, nominated to {self.nominated!r}, condition {self.condition}, event {self.event}"


def condition_of(pod: Json, type_: str = "PodScheduled") -> Told | None:
    for condition in pod["status"].get("conditions", ()):
        if condition["type"] == type_:
            return {field: condition.get(field) for field in _TOLD_OF_CONDITION}
    return None


def event_told(event: Json) -> Told:
    return {field: event.get(field) for field in _TOLD_OF_EVENT}


def is_gated(pod: Json) -> bool:
    return bool(pod["spec"].get("schedulingGates"))


def is_decided(pod: Json) -> bool:
    """The condition of a pod keeps its gates until the first attempt after they are removed."""
    condition = condition_of(pod) or {}
    return bool(pod["spec"].get("nodeName")) or condition.get("reason") not in (None, "SchedulingGated")


def outcome_of(pod: Json, complaints: list[Json]) -> Outcome:
    condition, event = condition_of(pod), event_told(complaints[0]) if complaints else None
    if is_gated(pod):
        return Outcome(GATED, condition=condition, event=event)
    if not is_decided(pod):
        return Outcome(UNDECIDED)
    if pod["spec"].get("nodeName"):
        return Outcome(PLACED, node=pod["spec"]["nodeName"])
    return Outcome(PENDING, "", pod["status"].get("nominatedNodeName", ""), condition, event)


def is_leaving(pod: Json) -> bool:
    return "deletionTimestamp" in pod["metadata"]
