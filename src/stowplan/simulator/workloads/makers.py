"""The table of workloads."""

from typing import Any

from stowplan.simulator.workloads.daemon_set import DaemonSetMaker
from stowplan.simulator.workloads.jobs import CronJobMaker, JobMaker
from stowplan.simulator.workloads.maker import Maker
from stowplan.simulator.workloads.replicas import DeploymentMaker, ReplicaSetMaker, ReplicationControllerMaker
from stowplan.simulator.workloads.stateful_set import StatefulSetMaker

MAKERS: dict[type[Any], type[Maker]] = {
    maker.kind: maker
    for maker in (
        DeploymentMaker,
        ReplicaSetMaker,
        ReplicationControllerMaker,
        StatefulSetMaker,
        DaemonSetMaker,
        CronJobMaker,
        JobMaker,
    )
}
"""What makes the pods of a workload, by its kind."""
