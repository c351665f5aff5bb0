"""Running PostFilter for a pod that fits nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stowplan.framework import Code, PostFilterResult

if TYPE_CHECKING:
    from stowplan.runtime.survey import Survey


def run_post_filters(survey: Survey) -> tuple[str, PostFilterResult | None]:
    """(what they say, what one of them proposes).

    Success, an unresolvable rejection and an error each end the round; other rejections are collected.
    """
    reasons: list[str] = []
    result: PostFilterResult | None = None
    statuses = survey.node_statuses()
    for plugin in survey.profile.post_filters:
        answer = plugin.post_filter(survey.state, survey.pod, statuses)
        proposal = answer if isinstance(answer, PostFilterResult) else None
        status = answer.status if isinstance(answer, PostFilterResult) else answer
        if status is None or status.code == Code.Success:
            return "", proposal
        if status.code not in (Code.Unschedulable, Code.Pending):
            return status.message, proposal
        reasons += status.reasons
        result = proposal or result
    return ", ".join(reasons), result
