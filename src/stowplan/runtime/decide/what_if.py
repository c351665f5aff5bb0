"""What-ifs of a scheduling cycle: the journal together with the plugins' cycle state."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from stowplan.framework import CycleState, NodeInfo, Pod, implements
from stowplan.runtime.points.cycle_error import failed_at

if TYPE_CHECKING:
    from stowplan.framework import Plugin
    from stowplan.runtime.profile.profile import Profile


class WhatIf:
    """A what-if for one pending pod, rolled back on exit. `state` is the cycle state of the what-if."""

    __slots__ = ("_journal", "_mark", "_plugins", "_pod", "state")

    def __init__(self, profile: Profile, state: CycleState, pod: Pod) -> None:
        skipped = state.skip_filter
        self._plugins = [plugin for plugin in profile.extensions if plugin.name not in skipped]
        self._journal = profile.cluster.journal
        self._pod = pod
        self._mark = 0
        # In-tree plugins read live counts, so most cycles have no state to copy.
        self.state = state.clone() if self._plugins else state

    def __enter__(self) -> WhatIf:
        self._mark = self._journal.mark()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self._journal.rollback(self._mark)

    def add(self, other: Pod, info: NodeInfo) -> None:
        self._journal.add(other, info)
        for plugin in self._plugins:
            status = plugin.add_pod(self.state, self._pod, other, info)
            if status is not None and status.code:
                raise failed_at("addPod", plugin.name, status.message)

    def remove(self, other: Pod, info: NodeInfo) -> None:
        self._journal.remove(other, info)
        for plugin in self._plugins:
            status = plugin.remove_pod(self.state, self._pod, other, info)
            if status is not None and status.code:
                raise failed_at("removePod", plugin.name, status.message)


def has_extensions(plugin: Plugin) -> bool:
    return implements(type(plugin), "add_pod") or implements(type(plugin), "remove_pod")
