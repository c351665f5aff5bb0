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
    statuses = survey.node_statuses()
    for plugin in survey.profile.post_filters:
        answer = plugin.post_filter(survey.state, survey.pod, statuses)
        if answer is None or isinstance(answer, PostFilterResult) or answer.code == Code.Success:
            return "", answer if isinstance(answer, PostFilterResult) else None
        if answer.code not in (Code.Unschedulable, Code.Pending):
            return answer.message, None
        reasons += answer.reasons
    return ", ".join(reasons), None
