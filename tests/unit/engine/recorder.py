"""A plugin that is at every extension point, remembers when it was called, and answers what a test wants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tests.builders import Json, only, profile_config
from tests.builders.engine_host import Host

from stowplan.config import IN_TREE_PLUGINS, from_builtins
from stowplan.config.releases import LATEST, Release
from stowplan.framework import (
    Call,
    ClusterEventWithHint,
    CycleState,
    Handle,
    NodeInfo,
    Nodes,
    Plugin,
    Pod,
    PostFilterResult,
    QueuedPodInfo,
    Status,
    skip,
)


class Recorder(Plugin):
    """`answers` holds, by point, what to return, an exception to raise, or a function of the pod. By default it agrees
    to everything, and leaves binding to others."""

    name = "Recorder"
    answers: Mapping[str, Any] = {}
    told: list[str]

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self.state_of: dict[str, CycleState] = {}

    def _at(self, point: str, pod: Pod | None = None, more: str = "", default: Any = None) -> Any:
        self.told.append(" ".join(filter(None, (point, more))))
        answer = self.answers.get(point, default)
        if isinstance(answer, Exception):
            raise answer
        return answer(pod) if callable(answer) else answer

    def pre_enqueue(self, pod: Pod) -> Status | None:
        return self._at("pre_enqueue", pod)

    def less(self, a: QueuedPodInfo, b: QueuedPodInfo) -> bool:
        self._at("less")
        return a.pod.name > b.pod.name

    def events_to_register(self) -> Iterable[ClusterEventWithHint]:
        return self._at("events_to_register", default=())

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | Iterable[str] | None:
        self.state_of[pod.name] = state
        return self._at("pre_filter", pod)

    def add_pod(self, state: CycleState, pod: Pod, added: Pod, node: NodeInfo) -> Status | None:
        return self._at("add_pod", pod, added.name)

    def remove_pod(self, state: CycleState, pod: Pod, removed: Pod, node: NodeInfo) -> Status | None:
        return self._at("remove_pod", pod, removed.name)

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return self._at("filter", pod, node.name)

    def post_filter(
        self, state: CycleState, pod: Pod, statuses: Mapping[str, Status]
    ) -> Status | PostFilterResult | None:
        return self._at("post_filter", pod, default=Status(2))  # type: ignore[arg-type]

    def pre_score(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        return self._at("pre_score", pod)

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> float | Status:
        return self._at("score", pod, node.name, default=7)

    def normalize_score(self, state: CycleState, pod: Pod, scores: dict[str, int]) -> Status | None:
        return self._at("normalize_score", pod)

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        return self._at("reserve", pod, node_name)

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        return self._at("unreserve", pod, node_name)

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> Any:
        return self._at("permit", pod, node_name)

    def pre_bind_pre_flight(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        return self._at("pre_bind_pre_flight", pod, node_name)

    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Any:
        return self._at("pre_bind", pod, node_name)

    def bind(self, state: CycleState, pod: Pod, node_name: str) -> Any:
        return self._at("bind", pod, node_name, default=skip())

    def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> Any:
        return self._at("post_bind", pod, node_name)


def recorder(name: str, told: list[str], **answers: Any) -> type[Recorder]:
    return type(name, (Recorder,), {"name": name, "told": told, "answers": answers})


def configuration(*names: str, sorts: bool = False) -> Json:
    """The plugins at every point, before DefaultBinder where pods are bound, and as QueueSort if they are to sort."""
    return profile_config(
        {
            "multiPoint": {"enabled": [{"name": name} for name in names]},
            **only("bind", *names, "DefaultBinder"),
            **only("queueSort", names[0] if sorts else "PrioritySort"),
        }
    )


class Recorded(Host):
    """A host whose engine runs a Recorder."""

    def __init__(
        self,
        *items: Any,
        answers: Mapping[str, Any] | None = None,
        sorts: bool = False,
        release: Release = LATEST,
        **more: Any,
    ) -> None:
        self.told: list[str] = []
        plugins = {"Recorder": recorder("Recorder", self.told, **(answers or {}))}
        written = configuration("Recorder", sorts=sorts)
        config = from_builtins(written, "config", {*IN_TREE_PLUGINS, "Recorder"}, release)
        super().__init__(*items, config=config, plugins=plugins, **more)

    def settle_until(self, point: str) -> None:
        """Let everything happen up to the call of a late point, which is left open."""
        while True:
            self.settle(Call)
            if (call := self.next_open(Call)).point == point:
                return
            self.do(call)

    def since_reserve(self) -> list[str]:
        """The points from Reserve on; the one that a pod passes which comes back is left out."""
        return [point for point in self.told[self.told.index("reserve a") :] if point != "pre_enqueue"]
