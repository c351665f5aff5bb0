"""The group events.k8s.io."""

from stowplan.api.meta import Int32, ObjectMeta, ObjectReference, Wire


class EventSeries(Wire, frozen=True, kw_only=True):
    """How often the same event was seen."""

    count: Int32 = 0
    last_observed_time: str = ""


class Event(Wire, frozen=True, kw_only=True):
    """Something that happened to an object, told to its owner."""

    metadata: ObjectMeta = ObjectMeta()
    event_time: str | None = None
    series: EventSeries | None = None
    reporting_controller: str = ""
    reporting_instance: str = ""
    action: str = ""
    reason: str = ""
    regarding: ObjectReference = ObjectReference()
    related: ObjectReference | None = None
    note: str = ""
    type: str = ""
