"""What a failed attempt does: where the pod goes, what it is nominated to, what is written about it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.builders import node, pod
from tests.builders.engine_host import NOW, Host

from stowplan.engine.requeue import AttemptFailure
from stowplan.framework import Code, EmitEvent, PatchStatus, Status
from stowplan.framework.instructions import MAX_NOTE_BYTES

NO_ROOM = (
    "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, "
    "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
)


def patches(host: Host) -> list[PatchStatus]:
    return [each for each in (*host.done, *host.open) if isinstance(each, PatchStatus)]


@pytest.mark.parametrize(
    ("status", "message", "unschedulable", "pending"),
    [
        (Status(Code.Error, "broken", plugin="X"), "broken", set(), set()),
        (Status(Code.Unschedulable, "b", "a", plugin="X"), "0/1 nodes are available: 1 a, 1 b.", {"X"}, set()),
        (Status(Code.UnschedulableAndUnresolvable, plugin="X"), "0/1 nodes are available:", {"X"}, set()),
        (Status(Code.Pending, "soon", plugin="X"), "0/1 nodes are available: 1 soon.", set(), {"X"}),
        (Status(Code.Unschedulable, "removed"), "0/1 nodes are available: 1 removed.", {""}, set()),
    ],
)
def test_failures_after_a_node_was_chosen(
    status: Status, message: str, unschedulable: set[str], pending: set[str]
) -> None:
    failed = AttemptFailure.on_chosen_node(status)
    assert (failed.message, failed.unschedulable_plugins, failed.pending_plugins) == (message, unschedulable, pending)
    plain = AttemptFailure.plain(status)
    assert (plain.message, plain.unschedulable_plugins) == (status.message, set())


def test_a_pod_that_fits_nowhere() -> None:
    host = Host(node("a", cpu=1), pod("p", requests={"cpu": 2}, metadata={"generation": 3}))
    host.schedule()
    assert host.place("p") == "unschedulable"
    assert host.unit("p").unschedulable_plugins == {"NodeResourcesFit"}
    (event,) = [each for each in host.done if isinstance(each, EmitEvent)]
    assert (event.type, event.reason, event.action) == ("Warning", "FailedScheduling", "Scheduling")
    assert (event.note, event.related) == (NO_ROOM, None)
    (patch,) = patches(host)
    assert patch.nominated_node_name is None
    assert patch.condition is not None
    assert (patch.condition.type, patch.condition.status) == ("PodScheduled", "False")
    assert (patch.condition.reason, patch.condition.message) == ("Unschedulable", NO_ROOM)
    assert patch.condition.observed_generation == 3


def test_the_pod_is_queued_before_anything_is_told() -> None:
    host = Host(node("a", cpu=1), pod("p", requests={"cpu": 2}))
    host.engine.schedule_one()
    assert host.place("p") == "unschedulable"
    assert [type(each) for each in host.take()] == [EmitEvent, PatchStatus]


def test_no_nodes_at_all_is_an_error_in_the_guise_of_a_rejection() -> None:
    host = Host(pod("p"))
    host.schedule()
    assert host.condition("p") == ("False", "Unschedulable", "no nodes available to schedule pods")
    assert (host.place("p"), host.unit("p").consecutive_errors) == ("error_backoff", 1)
    host.put(node("a"))
    host.advance(3)
    assert host.node_of("p") == "a"


def test_the_same_failure_again_is_an_event_and_no_patch() -> None:
    host = Host(node("a", cpu=1), pod("p", requests={"cpu": 2}))
    host.schedule()
    host.put(node("a", cpu=1, labels={"any": "change"}))
    host.state.queue.activate([host.engine.pending["default/p"].pod])
    host.schedule()
    assert host.events("p") == [f"FailedScheduling: {NO_ROOM}"] * 2
    assert [each.is_repeated for each in host.done if isinstance(each, EmitEvent)] == [False, True]
    assert len(patches(host)) == 1


def test_another_message_keeps_the_time_of_transition() -> None:
    host = Host(node("a", cpu=1), pod("p", requests={"cpu": 2}))
    host.schedule()
    host.clock.now += 60
    host.put(node("b", cpu=1))
    host.state.queue.activate([host.engine.pending["default/p"].pod])
    host.schedule()
    first, second = (patch.condition for patch in patches(host))
    assert first is not None
    assert second is not None
    assert first.message != second.message
    assert first.last_transition_time == second.last_transition_time == host.pod("p").metadata.creation_timestamp
    assert host.state.timestamp() != first.last_transition_time


def test_a_condition_is_requested_once_and_restored_if_the_message_returns() -> None:
    def attempt() -> list[PatchStatus]:
        host.state.queue.activate([host.engine.pending["default/p"].pod])
        host.engine.schedule_one()
        return [each for each in host.take() if isinstance(each, PatchStatus)]

    host = Host(node("a", cpu=1), pod("p", requests={"cpu": 2}))
    host.schedule()
    host.put(node("b", cpu=1))
    (other,) = attempt()
    assert (other.is_repeated, other.restores) == (True, False)
    assert attempt() == [], "it is requested already"
    second = host.engine.cluster.nodes.get("b")
    assert second is not None
    host.delete(second.node)
    (restored,) = attempt()
    assert restored.restores
    assert restored.condition is not None
    assert restored.condition.message == NO_ROOM
    assert attempt() == []
    host.put(node("b", cpu=1))
    assert len(attempt()) == 1
    host.engine.status_not_written("default/p")
    assert len(attempt()) == 1, "the patch was lost"


def test_a_condition_that_was_true_before_changes_its_time() -> None:
    was = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"}
    host = Host(node("a", cpu=1), pod("p", requests={"cpu": 2}, status={"conditions": [was]}))
    host.schedule()
    (patch,) = patches(host)
    assert patch.condition is not None
    assert patch.condition.last_transition_time == host.state.timestamp()


@pytest.mark.parametrize("letter", ["x", "ä", "☃"])
def test_notes_are_cut_at_a_number_of_bytes(letter: str) -> None:
    taint = [{"key": "k", "effect": "NoSchedule"}]
    host = Host(node("a", taints=taint))
    long = letter * 2000
    host.put(pod("p", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": long}}]))
    host.schedule()
    (event,) = [each for each in host.done if isinstance(each, EmitEvent)]
    assert len(event.note.encode()) <= MAX_NOTE_BYTES
    assert len(event.note.encode()) > MAX_NOTE_BYTES - 4
    assert event.note.endswith(f"{letter} ...")
    assert long in host.condition("p")[2], "the condition tells all"


@pytest.mark.parametrize("length", [1024, 1025])
def test_a_note_that_just_fits_is_whole(length: int) -> None:
    frame = '0/1 nodes are available: persistentvolumeclaim "" not found. not found'
    host = Host(node("a"))
    claim = "x" * (length - len(frame))
    host.put(pod("p", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]))
    host.schedule()
    (event,) = [each for each in host.done if isinstance(each, EmitEvent)]
    assert len(event.note) == 1024
    assert event.note.endswith(" ...") == (length > 1024)


class TestNomination:
    """A node is nominated, the nomination is cleared, or left alone."""

    def test_by_preemption(self) -> None:
        host = Host(node("a", cpu=2), pod("low", "a", requests={"cpu": 2}))
        host.put(pod("high", requests={"cpu": 2}, priority=9))
        host.engine.schedule_one()
        known = host.engine.pending["default/high"].pod
        assert host.state.nominator.node_of(known) == "a"
        host.take()
        assert [patch.nominated_node_name for patch in patches(host)] == ["a"]

    @pytest.mark.parametrize(
        ("spec", "left"),
        [
            ({"preemptionPolicy": "Never"}, "a"),
            ({}, ""),
            ({"nodeSelector": {"no": "node"}}, ""),
        ],
    )
    def test_after_a_failure_without_preemption(self, spec: dict[str, Any], left: str) -> None:
        """Where preemption was not tried it stays; where it found nothing it goes."""
        host = Host(node("a", cpu=1), pod("p", requests={"cpu": 2}, nominated="a", **spec))
        host.schedule()
        assert host.pod("p").status.nominated_node_name == left
        assert host.state.nominator.node_of(host.engine.pending["default/p"].pod) == left

    def test_it_is_cleared_by_an_error(self) -> None:
        host = Host(pod("p", nominated="a"))
        host.schedule()
        assert host.pod("p").status.nominated_node_name == ""
        assert not host.state.nominator.by_node

    def test_it_is_cleared_where_nobody_preempts(self) -> None:
        config = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"plugins": {"postFilter": {"disabled": [{"name": "*"}]}}}],
        }
        host = Host(node("a", cpu=1), pod("p", requests={"cpu": 2}, nominated="a"), config=config)
        host.schedule()
        assert host.pod("p").status.nominated_node_name == ""


def test_a_pod_that_is_gone_is_not_taken_back() -> None:
    host = Host(node("a"), pod("p"))
    unit = host.state.queue.pop()
    assert unit is not None
    host.state.pending.clear()
    host.engine._cycles._failures.handle(unit, AttemptFailure.plain(Status(Code.Error, "late")))
    assert (host.take(), len(host.state.queue), host.state.queue.in_flight("default/p")) == ([], 0, False)


def test_time_is_written_as_kubernetes_does() -> None:
    host = Host()
    assert NOW == 1_000_000.0
    assert host.state.timestamp() == "1970-01-12T13:46:40Z"
