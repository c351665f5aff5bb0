"""Running PostFilter for a pod that no node is feasible for.

Upstream: pkg/scheduler/framework/runtime/framework.go (RunPostFilterPlugins)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from stowplan.framework import Code, PostFilterResult, Status

if TYPE_CHECKING:
    from stowplan.runtime.decide.diagnosis import Diagnosis

Narrow = Callable[["Diagnosis", PostFilterResult], Awaitable[PostFilterResult | Status]]


class PostFilterRound:
    """The results of the PostFilter plugins so far. Success, an unresolvable rejection and an error end the round;
    other rejections are collected."""

    def __init__(self) -> None:
        self.message = ""
        self.result: PostFilterResult | None = None
        """The nomination that a plugin proposes."""
        self._reasons: list[str] = []

    def ends_with(self, answer: Status | PostFilterResult | None) -> bool:
        """Adds the result of a plugin. Returns whether the round is over."""
        proposal = answer if isinstance(answer, PostFilterResult) else None
        status = answer.status if isinstance(answer, PostFilterResult) else answer
        if status is None or status.code == Code.Success:
            self.message, self.result = "", proposal
            return True
        if status.code not in (Code.Unschedulable, Code.Pending):
            self.message, self.result = status.message, proposal
            return True
        self._reasons += status.reasons
        self.message = ", ".join(self._reasons)
        self.result = proposal or self.result
        return False


NO_ROUND = PostFilterRound()
"""Of a pod for which PostFilter does not run."""


async def run_post_filters(diagnosis: Diagnosis, narrow: Narrow | None = None) -> PostFilterRound:
    """PostFilter of a pod that fits no node. Proposed evictions go through `narrow`, if given."""
    outcome = PostFilterRound()
    statuses = diagnosis.node_statuses()
    for plugin in diagnosis.profile.post_filters:
        answer = plugin.post_filter(diagnosis.state, diagnosis.pod, statuses)
        if narrow is not None and isinstance(answer, PostFilterResult):
            answer = await narrow(diagnosis, answer)
        if outcome.ends_with(answer):
            break
    return outcome
