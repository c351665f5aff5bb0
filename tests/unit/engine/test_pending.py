"""What the engine remembers of the status of a pending pod."""

from __future__ import annotations

from tests.builders import World, pod

from stowplan import api
from stowplan.api import codec
from stowplan.engine.state import PendingPod


def test_conditions_are_found_by_type() -> None:
    conditions = [{"type": "Ready", "status": "False"}, {"type": "PodScheduled", "status": "False", "message": "why"}]
    item = pod("p", status={"conditions": conditions}, metadata={"resourceVersion": "17"})
    known = PendingPod(World().pod(item), codec.convert(api.Pod, item))
    found = known.condition("PodScheduled")
    assert found is not None
    assert found.message == "why"
    assert known.condition("DisruptionTarget") is None
    assert known.resource_version == "17"
