import pytest

from stowplan.framework import ALL_EVENTS, Action, ClusterEvent, EventResource, QueueingHint, on

ANYTHING = ClusterEvent(EventResource.Wildcard, Action.All)
LABEL = Action.UpdateNodeLabel


@pytest.mark.parametrize(
    ("registered", "incoming", "expected"),
    [
        (ClusterEvent("Node", Action.Add), ClusterEvent("Node", Action.Add), True),
        (ClusterEvent("Node", Action.Add), ClusterEvent("Node", Action.Delete), False),
        (ClusterEvent("Node", Action.Add), ClusterEvent("Pod", Action.Add), False),
        (ClusterEvent("Node", Action.Add | LABEL), ClusterEvent("Node", LABEL), True),
        (ClusterEvent("Node", Action.Add | LABEL), ClusterEvent("Node", Action.UpdateNodeTaint), False),
        (ClusterEvent("Node", Action.Update), ClusterEvent("Node", LABEL), True),
        (ANYTHING, ClusterEvent("foos.v1.example.com", Action.Delete), True),
        (ANYTHING, ClusterEvent(EventResource.AssignedPod, Action.Add), True),
        (ClusterEvent(EventResource.Wildcard, Action.Add), ClusterEvent("Node", Action.Add), True),
        (ClusterEvent(EventResource.Wildcard, Action.Add), ClusterEvent("Node", LABEL), False),
    ],
)
def test_matches(registered: ClusterEvent, incoming: ClusterEvent, expected: bool) -> None:
    assert registered.matches(incoming) is expected


@pytest.mark.parametrize(
    ("registered", "incoming", "expected"),
    [
        # Several changes at once match by their number: one bit in common, and no more than was registered for.
        (Action.Add | LABEL, LABEL | Action.UpdateNodeAllocatable, False),
        (Action.Add | LABEL, LABEL | Action.Delete, False),
        (Action.UpdateNodeTaint | LABEL, LABEL | Action.UpdateNodeAllocatable, True),
        (Action.UpdateNodeTaint | Action.Add, LABEL | Action.Add, True),
        (LABEL, LABEL | Action.UpdateNodeTaint, False),
    ],
)
def test_the_numeric_rule(registered: Action, incoming: Action, expected: bool) -> None:
    assert ClusterEvent("Node", registered).matches(ClusterEvent("Node", incoming)) is expected


@pytest.mark.parametrize("incoming", [EventResource.Pod, EventResource.AssignedPod, EventResource.UnschedulablePod])
def test_pod_covers_pods_of_all_sorts(incoming: str) -> None:
    assert ClusterEvent(EventResource.Pod, Action.Delete).matches(ClusterEvent(incoming, Action.Delete))


def test_a_sort_of_pods_covers_no_other() -> None:
    assigned = ClusterEvent(EventResource.AssignedPod, Action.Delete)
    assert not assigned.matches(ClusterEvent(EventResource.UnschedulablePod, Action.Delete))
    assert not assigned.matches(ClusterEvent(EventResource.Pod, Action.Delete))


def test_updates_are_all_bits_between_delete_and_the_end() -> None:
    single = [action for action in Action if action.bit_count() == 1]
    updates = [action for action in single if action not in (Action.Add, Action.Delete)]
    assert sum(updates) == Action.Update
    assert Action.Update | Action.Add | Action.Delete == Action.All


@pytest.mark.parametrize(
    ("event", "label"),
    [
        (ClusterEvent(EventResource.Node, Action.Add), "NodeAdd"),
        (ClusterEvent(EventResource.AssignedPod, Action.Delete), "AssignedPodDelete"),
        (ClusterEvent(EventResource.CSINode, Action.Update), "storage.k8s.io/CSINodeUpdate"),
        (ClusterEvent(EventResource.Node, LABEL), "NodeUpdateNodeLabel"),
        (ClusterEvent(EventResource.Wildcard, Action.All, "UnschedulableTimeout"), "UnschedulableTimeout"),
    ],
)
def test_labels(event: ClusterEvent, label: str) -> None:
    assert event.label == label


def test_registration_with_and_without_a_hint() -> None:
    def hint(pod: object, old: object, new: object) -> QueueingHint:
        return QueueingHint.Queue

    assert on("Node", Action.Add, hint).hint is hint
    assert on("Node", Action.Add).hint is None


def test_default_registration_hears_of_everything_that_can_help() -> None:
    assert len(ALL_EVENTS) == 10
    assert all(entry.event.action == Action.All and entry.hint is None for entry in ALL_EVENTS)
    for resource in ("Pod", "Node", "PersistentVolumeClaim", "resource.k8s.io/ResourceClaim"):
        assert any(entry.event.matches(ClusterEvent(resource, Action.Add)) for entry in ALL_EVENTS)
