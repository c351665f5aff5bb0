"""Whether other pods would be evicted for the pod, and why not."""

from __future__ import annotations

from stowplan.framework import PatchOperation, Pod
from stowplan.framework.explanation import PreemptionAnswer
from stowplan.insight.altered import altered_pod
from stowplan.runtime.decide.decision import Decision
from stowplan.runtime.preemption import Preemption
from stowplan.runtime.profile.profile import Profile

_PREEMPTS = (PatchOperation("add", "/spec/preemptionPolicy", "PreemptLowerPriority"),)


def preemption_answer(profile: Profile, pod: Pod, decision: Decision | None, message: str) -> PreemptionAnswer:
    """From the decision's own search; for a pod that may not preempt, from a search as if it might. Without a decision,
    from the message of the last attempt."""
    if not profile.post_filters:
        return PreemptionAnswer(eligible=False, text="no PostFilter plugin is enabled")
    if decision is not None and decision.preemption is not None:
        return _found(decision.preemption, eligible=True, prefix="")
    if decision is not None and pod.spec.preemption_policy == "Never":
        otherwise = profile.explain_decision(altered_pod(profile, pod, _PREEMPTS))
        text = "evicts no pod: preemptionPolicy is Never"
        if otherwise.preemption is None:
            return PreemptionAnswer(eligible=False, text=f"{text}; evictions would not help either")
        return _found(otherwise.preemption, eligible=False, prefix=f"{text}. Otherwise ")
    _, _, why = message.partition("preemption: ")
    eligible = pod.spec.preemption_policy != "Never"
    return PreemptionAnswer(eligible=eligible, text=f"evicts no pod: {why.rstrip('.')}" if why else "evicts no pod")


def _found(preemption: Preemption, *, eligible: bool, prefix: str) -> PreemptionAnswer:
    chosen = preemption.chosen
    if chosen is None:
        return PreemptionAnswer(eligible=eligible, text=f"{prefix}evicts no pod: {preemption.message}".strip())
    count, victims = len(preemption.candidates), tuple(victim.key for victim in chosen.victims)
    nodes = "1 node" if count == 1 else f"{count:,} nodes"
    who = victims[0] if len(victims) == 1 else f"{victims[0]} and {len(victims) - 1} more"
    priority = max(victim.priority for victim in chosen.victims)
    return PreemptionAnswer(
        eligible=eligible,
        text=f"{prefix}evictions make room on {nodes}, the cheapest by {who} (priority {priority}) on "
        f"{chosen.info.name}",
        nodes=count,
        cheapest=chosen.info.name,
        victims=victims,
        pdb_violations=chosen.violations,
    )
