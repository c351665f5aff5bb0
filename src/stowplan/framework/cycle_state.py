"""CycleState: data that plugins pass on within one scheduling cycle.

Upstream: pkg/scheduler/framework/cycle_state.go
"""

from __future__ import annotations

from typing import Any

from stowplan.errors import StowplanError

PODS_TO_ACTIVATE = "kubernetes.io/pods-to-activate"
"""Reserved key that can always be read: pods to move to the active queue after the cycle, as a dict from
"namespace/name" to Pod."""

_NO_PLUGINS: frozenset[str] = frozenset()


class StateNotFoundError(StowplanError):
    """A plugin read a key that no plugin wrote in this cycle."""

    def __init__(self) -> None:
        super().__init__("not found")


class CycleState:
    """Key-value store of one pod's scheduling cycle. Values may be anything.

    `skip_filter`, `skip_score` and `skip_pre_bind` hold the names of plugins that returned Skip from PreFilter,
    PreScore and PreBindPreFlight, as immutable sets: most cycles leave all three empty.
    """

    __slots__ = ("_values", "skip_filter", "skip_pre_bind", "skip_score")

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self.skip_filter: frozenset[str] = _NO_PLUGINS
        self.skip_score: frozenset[str] = _NO_PLUGINS
        self.skip_pre_bind: frozenset[str] = _NO_PLUGINS

    def write(self, key: str, value: Any) -> None:
        self._values[key] = value

    def read(self, key: str) -> Any:
        try:
            return self._values[key]
        except KeyError:
            if key == PODS_TO_ACTIVATE:
                return self._values.setdefault(key, {})
            raise StateNotFoundError from None

    def get(self, key: str) -> Any:
        """Like `read`, but returns None for a key that was not written."""
        return self._values.get(key)

    def delete(self, key: str) -> None:
        self._values.pop(key, None)

    def clone(self) -> CycleState:
        """A copy with its own keys and flags; values that have a `clone` method are cloned."""
        twin = CycleState()
        twin._values = {k: v.clone() if hasattr(v, "clone") else v for k, v in self._values.items()}
        twin.skip_filter = self.skip_filter
        twin.skip_score = self.skip_score
        twin.skip_pre_bind = self.skip_pre_bind
        return twin
