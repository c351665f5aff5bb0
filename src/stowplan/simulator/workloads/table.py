"""The table of workload kinds."""

from __future__ import annotations

from typing import Any, NamedTuple

from stowplan import api
from stowplan.simulator.api_server import ApiServer, controller_of
from stowplan.simulator.workloads.daemon_set import DaemonSetController
from stowplan.simulator.workloads.jobs import CronJobController, JobController
from stowplan.simulator.workloads.replicas import (
    CustomWorkloadController,
    DeploymentController,
    ReplicaSetController,
    ReplicationControllerController,
)
from stowplan.simulator.workloads.stateful_set import StatefulSetController
from stowplan.simulator.workloads.workload_controller import WorkloadController

CONTROLLERS: dict[type[Any], type[WorkloadController]] = {
    controller.kind: controller
    for controller in (
        DeploymentController,
        ReplicaSetController,
        ReplicationControllerController,
        StatefulSetController,
        DaemonSetController,
        CronJobController,
        JobController,
        CustomWorkloadController,
    )
}
"""Workload controllers by kind."""


class WorkloadTemplate(NamedTuple):
    """A pod template and its path in the workload."""

    path: str
    template: api.PodTemplateSpec


def find_template(item: Any) -> WorkloadTemplate | None:
    """The pod template of a workload; None without one, and for other kinds."""
    controller = CONTROLLERS.get(type(item))
    template = None if controller is None else controller.template_of(item)
    return None if controller is None or template is None else WorkloadTemplate(controller.template_path, template)


def is_recreated(api_server: ApiServer, pod: api.Pod) -> bool:
    """Whether a controller recreates the pod when it is deleted."""
    reference = controller_of(pod)
    if reference is None:
        return False
    return type(api_server.owner_of(pod)) in CONTROLLERS or reference.uid in api_server.assumed_owners


def pod_spec_of(item: Any) -> api.PodSpec | None:
    """The spec of a pod, or of the pods of a workload."""
    if isinstance(item, api.Pod):
        return item.spec
    found = find_template(item)
    return None if found is None else found.template.spec
