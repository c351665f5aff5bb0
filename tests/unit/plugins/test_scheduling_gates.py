from types import SimpleNamespace
from typing import Any, cast

import pytest

from stowplan import api
from stowplan.cache import Cluster
from stowplan.framework import Action, Code, EventResource, Pod, QueueingHint, Status
from stowplan.plugins.scheduling_gates import SchedulingGates

CLUSTER = Cluster()
PLUGIN = SchedulingGates(None, cast(Any, SimpleNamespace(cluster=CLUSTER)))


def pod(*gates: str, uid: str = "u") -> Pod:
    spec = api.PodSpec(scheduling_gates=tuple(api.PodSchedulingGate(name=gate) for gate in gates))
    return CLUSTER.pod(api.Pod(metadata=api.ObjectMeta(name="p", namespace="default", uid=uid), spec=spec))


def waiting(text: str) -> Status:
    return Status(Code.UnschedulableAndUnresolvable, text, plugin="SchedulingGates")


@pytest.mark.parametrize(
    ("gates", "expected"),
    [
        ((), None),
        (("one",), waiting("waiting for scheduling gates: [one]")),
        (("b.example.com/x", "a"), waiting("waiting for scheduling gates: [b.example.com/x a]")),
    ],
)
def test_gates_keep_a_pod_out_of_the_queue(gates: tuple[str, ...], expected: Status | None) -> None:
    assert PLUGIN.pre_enqueue(pod(*gates)) == expected


@pytest.mark.parametrize(("uid", "hint"), [("u", QueueingHint.Queue), ("other", QueueingHint.QueueSkip)])
def test_only_the_pods_own_gates_matter(uid: str, hint: QueueingHint) -> None:
    (registration,) = PLUGIN.events_to_register()
    assert registration.event.resource == EventResource.Pod
    assert registration.event.action == Action.UpdatePodSchedulingGatesEliminated
    assert registration.hint is not None
    assert registration.hint(pod("g"), pod("g", uid=uid), pod(uid=uid)) is hint
