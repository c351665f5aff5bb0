"""A plugin that fails or waits at the points after Filter, by the labels of pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stowplan.framework import CycleState, Handle, Plugin, Pod, PodTemplate, Status, error, reject, skip, wait

if TYPE_CHECKING:
    from tests.property.engine_walk import EngineWalk

HOLD = 20.0


class LatePointsPlugin(Plugin):
    """Acts by the labels of pods until it is switched off."""

    name = "LatePointsPlugin"

    def __init__(self, args: Any, handle: Handle, walk: EngineWalk) -> None:
        super().__init__(args, handle)
        self.walk = walk

    def concerns(self, template: PodTemplate) -> bool:
        return len(template.labels) > 1

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        return reject("not this one") if self._is_told(pod, "reserve", "deny") else None

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        return None

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        if self._is_told(pod, "permit", "deny"):
            return reject("no permit")
        return wait(HOLD) if self._is_told(pod, "permit", "hold") else None

    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        return error("not ready") if self._is_told(pod, "pre-bind", "fail") else None

    def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        return error("no line") if self._is_told(pod, "bind", "fail") else skip()

    def _is_told(self, pod: Pod, point: str, word: str) -> bool:
        return pod.labels.get(point) == word and not self.walk.at_ease
