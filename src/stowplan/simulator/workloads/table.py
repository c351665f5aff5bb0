"""The table of workloads."""

from typing import Any

from stowplan.simulator.workloads.daemon_set import DaemonSetController
from stowplan.simulator.workloads.jobs import CronJobController, JobController
from stowplan.simulator.workloads.replicas import (
    DeploymentController,
    ReplicaSetController,
    ReplicationControllerController,
)
from stowplan.simulator.workloads.stateful_set import StatefulSetController
from stowplan.simulator.workloads.workload_controller import WorkloadController

MAKERS: dict[type[Any], type[WorkloadController]] = {
    maker.kind: maker
    for maker in (
        DeploymentController,
        ReplicaSetController,
        ReplicationControllerController,
        StatefulSetController,
        DaemonSetController,
        CronJobController,
        JobController,
    )
}
"""What makes the pods of a workload, by its kind."""
