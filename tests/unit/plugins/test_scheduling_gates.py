import pytest
from tests.builders import pod
from tests.builders.plugin_rig import PluginRig

from stowplan.framework import Action, Code, EventResource, Pod, QueueingHint, Status
from stowplan.plugins.scheduling_gates import SchedulingGates

RIG = PluginRig(SchedulingGates)
PLUGIN = RIG.plugin


def gated(*gates: str, uid: str = "u") -> Pod:
    return RIG.pod(pod("p", schedulingGates=[{"name": gate} for gate in gates], metadata={"uid": uid}))


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
    assert PLUGIN.pre_enqueue(gated(*gates)) == expected


@pytest.mark.parametrize(("uid", "hint"), [("u", QueueingHint.Queue), ("other", QueueingHint.QueueSkip)])
def test_only_the_pods_own_gates_matter(uid: str, hint: QueueingHint) -> None:
    (registration,) = PLUGIN.events_to_register()
    assert registration.event.resource == EventResource.Pod
    assert registration.event.action == Action.UpdatePodSchedulingGatesEliminated
    assert registration.hint is not None
    assert registration.hint(gated("g"), gated("g", uid=uid), gated(uid=uid)) is hint
