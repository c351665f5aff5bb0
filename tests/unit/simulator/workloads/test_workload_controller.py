from collections.abc import Iterator
from typing import Any

import pytest
from tests.unit.simulator.simulated_cluster import SimulatedCluster, pod, workload

from stowplan import api
from stowplan.simulator.workloads.workload_controller import WorkloadController

OWNER: dict[str, Any] = {"kind": "ReplicaSet", "name": "web", "uid": "u"}


class Idle(WorkloadController):
    """Makes nothing."""

    kind = api.ReplicaSet

    def lacking(self, owner: Any) -> Iterator[Any]:
        return iter(())


@pytest.fixture
def stage() -> SimulatedCluster:
    leaving = pod("b", owner=OWNER, deletionTimestamp="2001-09-09T01:46:40Z")
    return SimulatedCluster(pod("a", owner=OWNER), leaving, pod("c", owner=OWNER), pod("d"))


def test_active_pods_are_counted(stage: SimulatedCluster) -> None:
    maker = Idle(stage.world, stage.controllers.admission)
    owner = workload("ReplicaSet", "web", uid="u", namespace="default")
    assert [each.metadata.name for each in maker.pods_of(owner)] == ["a", "b", "c"]
    assert maker.count_active(owner) == 2
    failed = stage.world.put(pod("c", namespace="default", owner=OWNER, status={"phase": "Failed"}))
    maker.saw(failed, owner)
    assert maker.count_active(owner) == 1
    stage.world.delete(failed)
    assert maker.count_active(owner) == 1
    maker.lost(failed, owner)
    assert maker.count_active(owner) == 1
    stage.world.put(pod("c", namespace="default", owner=OWNER))
    assert maker.count_active(owner) == 2


def test_a_stamp_lasts_as_long_as_the_template(stage: SimulatedCluster) -> None:
    maker = Idle(stage.world, stage.controllers.admission)
    owner = workload("ReplicaSet", "web", uid="u")
    stamp = maker.pod_factory(owner, owner.spec.template)
    assert maker.pod_factory(owner, owner.spec.template) is stamp
    assert len(stamp.spec.tolerations) == 2
    changed = workload("ReplicaSet", "web", uid="u", pod={"schedulerName": "mine"})
    assert maker.pod_factory(changed, changed.spec.template).spec.scheduler_name == "mine"


def test_nothing_is_waited_for_by_default(stage: SimulatedCluster) -> None:
    assert Idle(stage.world, stage.controllers.admission).waiting(workload("ReplicaSet", "web")) is None
