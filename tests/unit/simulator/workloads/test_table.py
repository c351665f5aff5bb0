from stowplan import api
from stowplan.simulator.custom_workload import CustomWorkload
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
        "CustomWorkload",
    }
    assert {kind.__name__ for kind in CONTROLLERS} == kinds
    assert all(controller.kind is kind for kind, controller in CONTROLLERS.items())
    assert all(api.KINDS[kind.__name__].struct is kind for kind in CONTROLLERS if kind is not CustomWorkload)
