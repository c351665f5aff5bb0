"""Running PostFilter for a pod that fits nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stowplan.framework import Code, PostFilterResult, Status

if TYPE_CHECKING:
    from stowplan.runtime.decide.diagnosis import Diagnosis


class PostFilterRound:
    """What the plugins said so far. Success, an unresolvable rejection and an error each end the round; other
    rejections are collected."""

    def __init__(self) -> None:
        self.message = ""
        """What they say."""
        self.result: PostFilterResult | None = None
        """What one of them proposes."""
        self._reasons: list[str] = []

    def ends_with(self, answer: Status | PostFilterResult | None) -> bool:
        """Take in what a plugin says; whether no other is to be asked."""
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


def run_post_filters(diagnosis: Diagnosis) -> PostFilterRound:
    said = PostFilterRound()
    statuses = diagnosis.node_statuses()
    for plugin in diagnosis.profile.post_filters:
        if said.ends_with(plugin.post_filter(diagnosis.state, diagnosis.pod, statuses)):
            break
    return said
