"""Why a pod of a run waits, in one sentence."""

from __future__ import annotations

from stowplan import api
from stowplan.framework import Explanation
from stowplan.insight.explain import run as run_slices
from stowplan.insight.insight import OTHER_SCHEDULER, Insight, other_scheduler_sentence
from stowplan.simulator.what_if.records import Why
from stowplan.simulator.what_if.run import ClusterRun


def explanation_of(run: ClusterRun, pod_name: str) -> Explanation | None:
    """The explanation of a pending pod, by namespace and name; None if it is not pending."""
    namespace, _, name = pod_name.partition("/")
    insight = Insight(run.simulation.engine, run.simulation.clock)
    for pending in run.simulation.engine.pending.values():
        pod = pending.pod
        if pod.name == name and pod.namespace == namespace:
            return run_slices(insight.explain(pod, top=1))
    return None


def why(run: ClusterRun, pod_name: str) -> Why | None:
    """The sentence of the explanation of a pending pod."""
    explanation = explanation_of(run, pod_name)
    if explanation is not None:
        return why_of(explanation)
    namespace, _, name = pod_name.partition("/")
    pod = run.api_server.get(api.Pod, name, namespace)
    if pod is None or pod.spec.scheduler_name in run.simulation.engine.profiles:
        return None
    return Why(OTHER_SCHEDULER, other_scheduler_sentence(pod.spec.scheduler_name))


def why_of(explanation: Explanation) -> Why:
    return Why("" if explanation.because is None else explanation.because.id, explanation.sentence)
