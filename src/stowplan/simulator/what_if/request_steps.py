"""Requests between the present ones and those of the question: how many pending pods each of them would place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stowplan import api
from stowplan.api import quantity
from stowplan.simulator.what_if.difference import compare, key_of_pod
from stowplan.simulator.what_if.effects import Effects
from stowplan.simulator.what_if.reasons import explanation_of
from stowplan.simulator.what_if.records import RequestStep
from stowplan.simulator.what_if.references import describe, find_object, workload_key
from stowplan.simulator.what_if.run import ClusterRun
from stowplan.simulator.what_if.workload_changes import SetRequests
from stowplan.simulator.workloads import find_template

_MAX_STEPS = 3


def request_steps(run: ClusterRun, change: SetRequests, namespace: str) -> Iterator[RequestStep]:
    """The amounts at which the explanation of a pending pod sees nodes open, the largest first; each is a run of its
    own. `run` is at rest and without the change. Only for a change of one request."""
    if len(change.requests) != 1:
        return
    ((key, wanted),) = change.requests.items()
    resource = key.rpartition(":")[2]
    item = find_object(run.api_server, change.set, namespace)
    workload = (
        workload_key(run.api_server, item)
        if isinstance(item, api.Pod)
        else f"{item.metadata.namespace}/{describe(item)}"
    )
    before = run.report().pods
    pending = [pod.pod for pod in before if not pod.node and key_of_pod(pod) == workload]
    steps = sorted(_opening(run, item, key, pending[0]), reverse=True) if pending else []
    for amount, text in steps[:_MAX_STEPS]:
        if amount > _amount(resource, wanted):
            trial = run.copy()
            SetRequests(change.set, {key: text}).apply(trial, Effects(namespace))
            trial.rest()
            workloads = compare(before, trial.report().pods).workloads
            left = sum(each.left for each in workloads if each.workload == workload)
            yield RequestStep(resource=resource, amount=amount, placed=max(0, len(pending) - left))


def _opening(run: ClusterRun, item: Any, key: str, pod_name: str) -> Iterator[tuple[int, str]]:
    """(amount, quantity) of the container's request at which nodes open for the pod."""
    name, _, resource = key.rpartition(":")
    template = item if isinstance(item, api.Pod) else getattr(find_template(item), "template", None)
    containers = () if template is None else [each.name for each in template.spec.containers]
    position = containers.index(name) if name in containers else 0
    path = f"/spec/containers/{position}/resources/requests/{resource.replace('~', '~0').replace('/', '~1')}"
    explanation = explanation_of(run, pod_name)
    for proposal in () if explanation is None else explanation.proposals:
        patch = proposal.change.patch
        if proposal.change.kind == "request" and len(patch) == 1 and patch[0].path == path:
            yield _amount(resource, str(patch[0].value)), str(patch[0].value)


def _amount(resource: str, text: str) -> int:
    return quantity.milli_value(text) if resource == "cpu" else quantity.value(text)
