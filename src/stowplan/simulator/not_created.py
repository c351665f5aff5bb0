"""Pods that the controllers of a simulation could not create, as records of explanations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from stowplan import api
from stowplan.framework.explanation import NotCreatedPods
from stowplan.insight.not_created import not_created
from stowplan.simulator.report.recorder import workload_of
from stowplan.simulator.simulation import Simulation


def not_created_pods(simulation: Simulation) -> Iterator[NotCreatedPods]:
    """The pods that the API server refused, by workload."""
    refused = simulation.controllers.not_created
    if not refused:
        return
    server = simulation.api_server
    existing = Counter((pod.metadata.namespace, workload_of(server, pod)) for pod in server.all(api.Pod))
    for pod, pods, message in refused:
        namespace, workload = pod.metadata.namespace, workload_of(server, pod)
        made = existing[(namespace, workload)] if workload else 0
        yield not_created(f"{namespace}/{workload or pod.metadata.name}", pods, pods + made, message)
