"""What is kept for large pod templates is bounded, whatever the number of their pods."""

import gc
from typing import Any
from weakref import ref

import pytest
from tests.builders import World, away, near, node, pod, term
from tests.builders.engine_host import Host
from tests.builders.objects import Json

from stowplan.cache import large_templates
from stowplan.cache.large_templates import LargeTemplates
from stowplan.cache.selection import PodTerms
from stowplan.cache.templates import LARGE_TEMPLATE_BYTES
from stowplan.framework import PodTemplate


def large(name: str, terms: int = 400, **more: Any) -> Json:
    """A pod that no node is feasible for, with a template of more than 16 KiB."""
    several = [term(f"{name}-{number}", "nobody") for number in range(terms)]
    return pod(name, affinity={**near(*several), **away(*several)}, **more)


def template(encoded_bytes: int) -> PodTemplate:
    made = World().pod(pod("p")).template
    made.encoded_bytes = encoded_bytes
    return made


def test_the_templates_used_least_recently_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_templates, "BUDGET_BYTES", 100)
    forgotten: list[PodTemplate] = []
    known = LargeTemplates(forgotten.append)
    a, b, c = template(40), template(40), template(40)
    for each in (a, b, a, c):
        known.use(each)
    assert forgotten == [b]
    known.use(template(101))
    assert [each.encoded_bytes for each in forgotten] == [40, 40, 40, 101]


def test_templates_that_are_gone_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_templates, "BUDGET_BYTES", 100)
    forgotten: list[PodTemplate] = []
    known = LargeTemplates(forgotten.append)
    gone = template(80)
    known.use(gone)
    alive = ref(gone)
    del gone
    gc.collect()
    assert alive() is None
    known.use(template(80))
    assert forgotten == []


@pytest.mark.parametrize("running", [(), (pod("of-equal-labels", on="a"),)])
def test_a_pending_pod_keeps_nothing_but_itself(monkeypatch: pytest.MonkeyPatch, running: tuple[Json, ...]) -> None:
    monkeypatch.setattr(large_templates, "BUDGET_BYTES", LARGE_TEMPLATE_BYTES)
    host = Host(node("a"), *running, large("p"))
    (pending,) = host.engine.pending.values()
    assert pending.pod.template.encoded_bytes > LARGE_TEMPLATE_BYTES
    assert PodTerms not in pending.pod.template.derived
    host.schedule()
    assert host.place("p") == "unschedulable"
    assert (pending.pod.template.derived, pending.pod.template.footprint) == ({}, None)


def test_terms_of_a_pod_on_a_node_stay_when_an_equal_pod_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_templates, "BUDGET_BYTES", 0)
    terms = [term("kubernetes.io/hostname"), *(term(f"key-{number}") for number in range(800))]
    repelling: Json = {"labels": {"app": "a"}, "affinity": away(*terms)}
    host = Host(node("a"), pod("first", **repelling), check_invariants=False)
    host.schedule()
    assert host.node_of("first") == "a"
    host.done.clear()  # Refers to the attempt, and thereby to the counts.
    for name in ("second", "third"):
        host.put(pod(name, **repelling))
        host.schedule()
        assert host.place(name) == "unschedulable"
        host.delete(pod(name))
    host.done.clear()
    gc.collect()
    host.put(pod("other", labels={"app": "a"}))
    host.schedule()
    assert host.place("other") == "unschedulable"
