import pytest

from stowplan.api import PodSpec
from stowplan.framework import Pod, PodTemplate


def template(**spec: object) -> PodTemplate:
    return PodTemplate("ns", {"app": "a"}, PodSpec(**spec), None, {"cpu": 100}, (100, 200))  # type: ignore[arg-type]


def test_what_follows_from_a_template_is_computed_once() -> None:
    calls: list[PodTemplate] = []
    shared = template()
    for _ in range(3):
        assert shared.derive("key", lambda t: calls.append(t)) is None
    assert shared.derive("other", lambda t: 2) == 2
    assert calls == [shared]


def test_a_failure_is_not_remembered() -> None:
    shared = template()

    def fail(_: PodTemplate) -> int:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        shared.derive("key", fail)
    assert shared.derive("key", lambda t: 1) == 1


def test_priority_is_zero_where_none_is_given() -> None:
    assert template().priority == 0
    assert template(priority=-3).priority == -3


def test_templates_are_compared_by_identity() -> None:
    assert template() != template()


def test_pod_reads_through_its_template() -> None:
    shared = template(priority=7)
    pod = Pod(shared, "p", "u", {"app": "a", "index": "0"})
    assert (pod.namespace, pod.key, pod.priority, pod.spec) == ("ns", "ns/p", 7, shared.spec)
    assert pod.labels != shared.labels
    assert repr(pod) == "<Pod ns/p>"


def test_whole_object_only_where_it_was_kept() -> None:
    pod = Pod(template(), "p", "u", {})
    with pytest.raises(AttributeError, match="needs_objects"):
        _ = pod.object
    pod.source = {"kind": "Pod"}
    assert pod.object == {"kind": "Pod"}
