from stowplan import api
from stowplan.simulator.workloads import CONTROLLERS


def test_every_kind_with_a_pod_template_has_a_maker() -> None:
    kinds = {
        "Deployment",
        "ReplicaSet",
        "ReplicationController",
        "StatefulSet",
        "DaemonSet",
        "Job",
        "CronJob",
    }
    assert {kind.__name__ for kind in CONTROLLERS} == kinds
    assert all(controller.kind is kind is api.KINDS[kind.__name__].struct for kind, controller in CONTROLLERS.items())
