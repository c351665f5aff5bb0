"""A plugin that misbehaves by a pod's label: `trouble: <method>-<action>`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from stowplan import Plugin, skip, wait


def raises() -> None:
    raise RuntimeError("out of order")


def hangs() -> None:
    time.sleep(3600)


DEEDS: dict[str, Callable[[], Any]] = {
    "raises": raises,
    "exits": sys.exit,
    "hangs": hangs,
    "nonsense": lambda: 7.5j,
    "waits": lambda: wait(1.0),
}


class Misbehaving(Plugin):
    """Performs the action of the label at its extension point."""

    name = "Misbehaving"
    scope = "cluster"

    def _do(self, method: str, pod: Any) -> Any:
        asked, _, deed = pod.labels.get("trouble", "").partition("-")
        return DEEDS[deed]() if asked == method else None

    def pre_filter(self, state: Any, pod: Any, nodes: Any) -> Any:
        return self._do("pre_filter", pod)

    def filter(self, state: Any, pod: Any, node: Any) -> Any:
        return self._do("filter", pod)

    def pre_score(self, state: Any, pod: Any, nodes: Any) -> Any:
        return self._do("pre_score", pod)

    def score(self, state: Any, pod: Any, node: Any) -> Any:
        return self._do("score", pod) or 0

    def reserve(self, state: Any, pod: Any, node_name: str) -> Any:
        return self._do("reserve", pod)

    def unreserve(self, state: Any, pod: Any, node_name: str) -> None:
        if pod.labels.get("trouble"):
            raises()  # whatever else went wrong

    def permit(self, state: Any, pod: Any, node_name: str) -> Any:
        return self._do("permit", pod)

    def pre_bind(self, state: Any, pod: Any, node_name: str) -> Any:
        return self._do("pre_bind", pod)

    def bind(self, state: Any, pod: Any, node_name: str) -> Any:
        return self._do("bind", pod) or skip()

    def post_bind(self, state: Any, pod: Any, node_name: str) -> Any:
        return self._do("post_bind", pod)
