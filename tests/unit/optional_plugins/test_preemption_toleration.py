from typing import Any

import pytest
from tests.builders import Json, World, node, pod
from tests.unit.optional_plugins.test_registry import configuration

from stowplan import api
from stowplan.evaluation.evaluator import evaluate
from stowplan.optional_plugins.preemption_toleration import (
    MINIMUM_PREEMPTABLE_PRIORITY,
    TOLERATION_SECONDS,
    TolerationPolicy,
    policy_of,
)

NAME = "PreemptionToleration"
CONFIG = configuration({"postFilter": {"enabled": [{"name": NAME}], "disabled": [{"name": "*"}]}})
NOW = 1_000_000.0  # 1970-01-12T13:46:40Z
SCHEDULED = "1970-01-12T13:45:00Z"  # 100 s before.


def running(name: str, priority_class: str = "low", **more: Any) -> Json:
    conditions = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": SCHEDULED}]
    status = more.pop("status", {"conditions": conditions})
    return pod(name, "n", priority=10, priorityClassName=priority_class, requests={"cpu": "4"}, status=status, **more)


def world(annotations: dict[str, str], *pods: Json) -> World:
    made = World([node("n", cpu="4")], pods, config=CONFIG)
    made.plugin(NAME).handle.now = lambda: NOW
    made.put("PriorityClass", name="low", value=10, annotations=annotations)
    return made


def victims(made: World, priority: int = 50) -> list[str]:
    preemptor = made.pod(pod("p", priority=priority, requests={"cpu": "1"}))
    record = evaluate(made.profile, preemptor)
    assert record.preemption is not None
    return [victim for candidate in record.preemption.candidates for victim in candidate.victims]


@pytest.mark.parametrize(
    ("minimum", "seconds", "priority", "evicted"),
    [
        (None, None, 50, True),  # The class tolerates no pod of higher priority.
        ("100", None, 50, True),  # For 0 s.
        ("100", "-1", 50, False),
        ("100", "-1", 99, False),
        ("100", "-1", 100, True),
        ("100", "99", 50, True),
        ("100", "100", 50, True),  # Until 100 s after, exclusive.
        ("100", "101", 50, False),
        (None, "-1", 50, True),
        ("many", "-1", 50, True),
        ("100", "1.5", 50, True),
        ("3000000000", "-1", 50, True),  # Beyond an int32.
    ],
)
def test_tolerance(minimum: str | None, seconds: str | None, priority: int, evicted: bool) -> None:
    given = {MINIMUM_PREEMPTABLE_PRIORITY: minimum, TOLERATION_SECONDS: seconds}
    made = world({key: text for key, text in given.items() if text is not None}, running("a"))
    assert victims(made, priority) == (["default/a"] if evicted else [])


TOLERANT = {MINIMUM_PREEMPTABLE_PRIORITY: "100", TOLERATION_SECONDS: "1"}


@pytest.mark.parametrize("conditions", [[], [{"type": "PodScheduled", "status": "False"}]])
def test_pods_that_are_not_scheduled_yet_are_spared(conditions: list[Json]) -> None:
    assert victims(world(TOLERANT, running("a"))) == ["default/a"]
    assert victims(world(TOLERANT, running("a", status={"conditions": conditions}))) == []


def test_a_pod_without_a_class_is_not_spared() -> None:
    forever = {MINIMUM_PREEMPTABLE_PRIORITY: "100", TOLERATION_SECONDS: "-1"}
    assert victims(world(forever, running("a", ""))) == ["default/a"]


def test_texts() -> None:
    forever = {MINIMUM_PREEMPTABLE_PRIORITY: "100", TOLERATION_SECONDS: "-1"}
    made = world(forever, running("a"))
    decision = made.decide(pod("p", priority=50, requests={"cpu": "1"}))
    assert decision.message == (
        "0/1 nodes are available: 1 Insufficient cpu. "
        "0/1 nodes are available: 1 No victims found on node n for preemptor pod p."
    )
    never = made.decide(pod("p", priority=50, requests={"cpu": "1"}, preemptionPolicy="Never"))
    assert never.message == ("0/1 nodes are available: 1 Insufficient cpu. not eligible due to preemptionPolicy=Never.")


def test_an_unknown_class_is_an_error() -> None:
    made = world({}, running("a", "gone"))
    decision = made.decide(pod("p", priority=50, requests={"cpu": "1"}))
    assert decision.message == 'priorityclass.scheduling.k8s.io "gone" not found'


def test_any_terminating_pod_of_lower_priority_on_the_nominated_node_is_awaited() -> None:
    made = world({}, running("a", deletionTimestamp="1970-01-12T13:46:00Z"))
    waiting = pod("p", priority=50, requests={"cpu": "1"}, nominated="n")
    assert made.decide(waiting).message.endswith("not eligible due to a terminating pod on the nominated node.")


def test_defaults_of_the_annotations() -> None:
    assert policy_of(api.PriorityClass(value=7)) == TolerationPolicy(8, 0)
