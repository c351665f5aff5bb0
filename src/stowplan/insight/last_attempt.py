"""Pods that pass all filters and have no node: why the last attempt failed, in words.

Extenders are called in scheduling cycles only, and errors of plugins need not come back, so both are read from the
history of attempts.
"""

from __future__ import annotations

from msgspec.structs import replace

from stowplan.api.selector_words import listed
from stowplan.framework import Explanation, Pod
from stowplan.framework.explanation import Because, HistoryEntry
from stowplan.framework.extender import Extender
from stowplan.runtime.decide.diagnosis import EXTENDER
from stowplan.runtime.profile.profile import Profile

_MESSAGE_HEAD = "nodes are available: "
_PREEMPTION = (" no new claims to deallocate", " preemption: ")


def with_last_attempt(found: Explanation, profile: Profile, pod: Pod) -> Explanation:
    """The explanation of a pod that fits now, with the failure of its last attempt if no filter was its cause."""
    last = found.history[-1] if found.history else None
    if found.verdict != "fits" or last is None:
        return found
    extenders = [each for each in profile.extenders if each.is_interested(pod)]
    if EXTENDER in last.plugins and last.verdict == "rejected":
        who = listed([each.name for each in extenders if each.serves("filter")])
        sentence = f"In the last attempt extender {who} refused the nodes that were left: {_reasons(last.message)}"
        return _failed(found, last, Because(id="extender.refused", plugin=EXTENDER), sentence)
    if last.verdict != "error":
        return found
    extender = _failing(extenders, last)
    if extender is None:
        sentence = f"The last attempt failed: {last.message.rstrip('.')}."
        return _failed(found, last, Because(id="error", plugin=""), sentence)
    waits = "pods wait until it answers (ignorable is false)"
    sentence = f"Extender {extender.name} failed: {last.message.rstrip('.')}; {waits}."
    return _failed(found, last, Because(id="extender.failed", plugin=EXTENDER), sentence)


def _failed(found: Explanation, last: HistoryEntry, because: Because, sentence: str) -> Explanation:
    return replace(
        found,
        verdict="not-now",
        sentence=sentence,
        because=replace(because, facts={"time": last.latest}),
        more=(f"All filters let it pass: {found.sentence[:1].lower()}{found.sentence[1:]}", *found.more),
        message=found.message or last.message,
    )


def _failing(extenders: list[Extender], last: HistoryEntry) -> Extender | None:
    """The extender that the message names, if its failure ends attempts."""
    fatal = [each for each in extenders if not each.ignorable]
    return next((each for each in fatal if each.name in last.message), None)


def _reasons(message: str) -> str:
    """The reasons of kube-scheduler's message, without its words about preemption."""
    reasons = message.partition(_MESSAGE_HEAD)[2] or message
    for words in _PREEMPTION:
        reasons = reasons.partition(words)[0]
    return reasons.rstrip(".") + "."
