import pytest

from stowplan import api
from stowplan.simulator.pod_status import is_active, is_finished, is_healthy, started, with_condition

NOW = "2001-09-09T01:46:40Z"
BEFORE = "2001-01-01T00:00:00Z"


def condition(type: str = "PodScheduled", status: str = "False", reason: str = "", since: str = "") -> api.Condition:
    return api.Condition(type=type, status=status, reason=reason, last_transition_time=since)


def test_a_condition_takes_the_place_of_its_type() -> None:
    status = api.PodStatus(conditions=(condition(reason="old", since=BEFORE), condition("Ready", since=BEFORE)))
    changed = with_condition(status, condition(reason="new"), NOW)
    assert changed.conditions == (condition("Ready", since=BEFORE), condition(reason="new", since=BEFORE))


def test_the_time_of_transition_is_that_of_the_status() -> None:
    status = api.PodStatus(conditions=(condition(since=BEFORE),))
    assert with_condition(status, condition(status="True"), NOW).conditions[0].last_transition_time == NOW


def test_a_pod_starts_where_it_is_bound() -> None:
    pod = api.Pod(status=api.PodStatus(phase="Pending", nominated_node_name="n2", conditions=(condition("Other"),)))
    running = started(pod, "n1", NOW)
    assert running.spec.node_name == "n1"
    assert (running.status.phase, running.status.start_time, running.status.nominated_node_name) == ("Running", NOW, "")
    assert running.status.conditions == (condition(status="True", since=NOW), condition("Other"))


def test_who_is_finished_or_leaving_is_not_active() -> None:
    leaving = api.Pod(metadata=api.ObjectMeta(deletion_timestamp=NOW))
    failed = api.Pod(status=api.PodStatus(phase="Failed"))
    assert [is_active(pod) for pod in (leaving, failed, api.Pod())] == [False, False, True]
    assert [is_finished(pod) for pod in (leaving, failed)] == [False, True]


@pytest.mark.parametrize(
    ("phase", "ready", "expected"),
    [
        ("", None, True),
        ("Running", None, True),
        ("Running", "True", True),
        ("Running", "False", False),
        ("Running", "Unknown", False),
        ("Pending", "False", True),
        ("Failed", None, False),
    ],
)
def test_who_is_bound_is_healthy_unless_it_is_known_better(phase: str, ready: str | None, expected: bool) -> None:
    conditions = (condition("Other"), *([] if ready is None else [condition("Ready", ready)]))
    status = api.PodStatus(phase=phase, conditions=conditions)
    assert is_healthy(api.Pod(spec=api.PodSpec(node_name="n1"), status=status)) == expected
    assert not is_healthy(api.Pod(status=status))


def test_who_is_on_the_way_out_is_not_healthy() -> None:
    leaving = api.ObjectMeta(deletion_timestamp=NOW)
    assert not is_healthy(api.Pod(metadata=leaving, spec=api.PodSpec(node_name="n1")))
