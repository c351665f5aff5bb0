"""Explanations of pods that no filter keeps from a node: gated pods, preemptors, and pods that wait at Permit."""

from __future__ import annotations

from msgspec.structs import replace

from stowplan.cache import Cluster
from stowplan.framework import Explanation, Pod, Status
from stowplan.framework.explanation import EXPLANATION_VERSION, Because, Verdict
from stowplan.insight.altered import best_node
from stowplan.insight.explain import explain, explained_pod
from stowplan.insight.queue_words import gate_sentence, preempting_sentence
from stowplan.insight.slices import Slices
from stowplan.runtime.decide.diagnosis import Diagnosis
from stowplan.runtime.points.cycle_error import CycleError
from stowplan.runtime.profile.profile import Profile


def explain_permit(pod: Pod, sentence: str, plugin: str) -> Explanation:
    """A pod that waits at Permit, on the node that is kept for it."""
    return _short(pod, "waiting", "waiting", sentence, Because(id="permit", plugin=plugin))


def victims_under_way(cluster: Cluster, pod: Pod) -> list[Pod]:
    """Pods of lower priority that are being deleted on the pod's nominated node."""
    info = cluster.nodes.get(pod.nominated_node_name) if pod.nominated_node_name else None
    return [
        other
        for other in (() if info is None else info.pods.values())
        if (other.terminating or other.uid in cluster.evicted) and other.priority < pod.priority
    ]


def explain_preemptor(pod: Pod, victims: list[Pod]) -> Explanation:
    """A pod for which evictions are under way."""
    facts = {"node": pod.nominated_node_name, "victims": [victim.key for victim in victims]}
    because = Because(id="preempting", plugin="DefaultPreemption", facts=facts)
    return _short(pod, "pending", "waiting", preempting_sentence(pod, victims), because)


def explain_gated(
    profile: Profile, pod: Pod, status: Status, *, top: int, message: str | None = None, sentence: str = ""
) -> Slices[Explanation]:
    """The explanation of a pod that PreEnqueue gates, and its prospects without the gate. `sentence` replaces the
    plugin's reason."""
    gates = [gate.name for gate in pod.spec.scheduling_gates]
    because = Because(id="gate", plugin=status.plugin, facts={"gates": gates})
    sentence = sentence or gate_sentence(pod, status.plugin, status.message)
    found = _short(pod, "gated", "waiting", sentence, because)
    without = "Without the gate" if len(gates) == 1 else "Without the gates" if gates else "Otherwise"
    try:
        diagnosis = Diagnosis(profile, pod).run()
    except CycleError as error:
        return replace(found, more=(f"{without}: {error}.",))
    yield
    count = len(diagnosis.feasible)
    if count:
        nodes = "1 node" if count == 1 else f"{count:,} nodes"
        best = best_node(diagnosis)
        which = best if count == 1 else f"{nodes} now; {best} is the best"
        return replace(found, more=(f"{without} it would fit on {which}.",))
    rest = yield from explain(profile, pod, top=top, message=message)
    if not gates and rest.because is not None and rest.because.plugin == status.plugin:
        # PreFilter of the same plugin rejects the pod for the same reason, and the plugin explains it.
        return replace(rest, state="gated")
    return replace(
        rest,
        state="gated",
        verdict="waiting",
        sentence=found.sentence,
        because=because,
        more=(f"{without} it would not fit: {rest.sentence}", *rest.more),
    )


def explain_briefly(pod: Pod, because: Because, sentence: str, message: str) -> Explanation:
    """A pod that a running scheduler does not explain."""
    return replace(_short(pod, "pending", "not-now", sentence, because), message=message)


def _short(pod: Pod, state: str, verdict: Verdict, sentence: str, because: Because) -> Explanation:
    return Explanation(
        version=EXPLANATION_VERSION,
        pod=explained_pod(pod),
        state=state,
        verdict=verdict,
        sentence=sentence,
        because=because,
    )
