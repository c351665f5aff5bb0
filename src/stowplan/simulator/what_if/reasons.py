"""Why a pod of a run waits, in one sentence."""

from __future__ import annotations

from stowplan.framework import Explanation
from stowplan.insight.explain import run as run_slices
from stowplan.insight.insight import Insight
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
    return None if explanation is None else why_of(explanation)


def why_of(explanation: Explanation) -> Why:
    return Why("" if explanation.because is None else explanation.because.id, explanation.sentence)
