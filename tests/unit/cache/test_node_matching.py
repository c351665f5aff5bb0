"""Both forms of node matching agree, on every operator and field."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan import api
from stowplan.api.node_selectors import compile_node_selector
from stowplan.cache import Cluster, LabelColumn
from stowplan.cache.node_matching import match_nodes, match_term, required_nodes

NODES: dict[str, dict[str, str]] = {
    "n1": {"zone": "a", "size": "5"},
    "n2": {"zone": "b", "size": "10"},
    "n3": {"zone": "", "size": "big"},
    "n4": {"size": "7"},
    "n5": {},
}


def cluster() -> Cluster:
    made = Cluster()
    for name, labels in NODES.items():
        made.put_node(api.Node(metadata=api.ObjectMeta(name=name, labels=labels)))
    made.remove_node("n5")
    return made


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


operators = st.sampled_from(
    [("In", 1, 2), ("NotIn", 1, 2), ("Exists", 0, 0), ("DoesNotExist", 0, 0), ("Gt", 1, 1), ("Lt", 1, 1)]
)


@st.composite
def expressions(draw: st.DrawFn) -> dict[str, Any]:
    operator, least, most = draw(operators)
    values = ["6", "10"] if operator in ("Gt", "Lt") else ["a", "b", "", "5", "10", "never"]
    chosen = draw(st.lists(st.sampled_from(values), min_size=least, max_size=most))
    return expression(draw(st.sampled_from(["zone", "size", "nowhere"])), operator, *chosen)


fields = st.builds(
    expression,
    st.sampled_from(["metadata.name", "metadata.namespace"]),
    st.sampled_from(["In", "NotIn"]),
    st.sampled_from(["n1", "n4", "n5", "unknown", ""]),
)
terms = st.fixed_dictionaries(
    {"matchExpressions": st.lists(expressions(), max_size=3), "matchFields": st.lists(fields, max_size=2)}
)


@given(st.lists(terms, max_size=3), st.dictionaries(st.sampled_from(["zone", "size"]), st.sampled_from(["a", "5"])))
def test_vector_and_scalar_agree(some: list[dict[str, Any]], wanted: dict[str, str]) -> None:
    world = cluster()
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": some}}}
    pod = world.pod(msgspec.convert({"spec": {"nodeSelector": wanted, "affinity": affinity}}, api.Pod))
    required = required_nodes(pod.template)
    assert required is not None
    expected = {info.name: required.matches(info) for info in world.nodes}
    backwards = np.array(sorted(world.nodes.slot_of.values(), reverse=True), dtype=np.intp)
    for nodes in (world.nodes.everything(), world.nodes.subset(backwards)):
        mask = required.match_nodes(world.nodes, nodes.index)
        assert len(mask) == len(nodes)
        assert {info.name: bool(mask[position]) for position, info in nodes.infos()} == expected


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ({"matchExpressions": [expression("zone", "In", "a", "b")]}, ["n1", "n2"]),
        ({"matchExpressions": [expression("zone", "NotIn", "a")]}, ["n2", "n3", "n4"]),
        ({"matchExpressions": [expression("zone", "Exists")]}, ["n1", "n2", "n3"]),
        ({"matchExpressions": [expression("zone", "DoesNotExist")]}, ["n4"]),
        ({"matchExpressions": [expression("size", "Gt", "5")]}, ["n2", "n4"]),
        ({"matchExpressions": [expression("size", "Lt", "10")]}, ["n1", "n4"]),
        ({"matchFields": [expression("metadata.name", "In", "n3")]}, ["n3"]),
        ({"matchFields": [expression("metadata.name", "NotIn", "n3")]}, ["n1", "n2", "n4"]),
        ({}, []),
        ({"matchExpressions": [expression("zone", "Near", "a")]}, []),
    ],
)
def test_known_answers(term: dict[str, Any], expected: list[str]) -> None:
    world = cluster()
    selector = compile_node_selector(msgspec.convert({"nodeSelectorTerms": [term]}, api.NodeSelector))
    nodes = world.nodes.everything()
    mask = match_nodes(world.nodes, selector, nodes.index)
    assert [info.name for position, info in nodes.infos() if mask[position]] == expected
    for compiled in selector.terms:
        assert (match_term(world.nodes, compiled, nodes.index) == mask).all()


def test_pods_that_demand_nothing() -> None:
    assert required_nodes(cluster().pod(api.Pod()).template) is None


def test_evaluation_ends_at_the_first_requirement_that_leaves_no_node(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluated: list[str] = []
    matching = LabelColumn.matching

    def counted(column: LabelColumn, *args: Any) -> Any:
        evaluated.append(column.key)
        return matching(column, *args)

    monkeypatch.setattr(LabelColumn, "matching", counted)
    nodes = cluster().nodes
    keys = [expression(f"k{i}", "DoesNotExist") for i in range(50)]
    found = [
        ([*keys, expression("size", "In", "none"), expression("zone", "Exists")], ["size"]),
        ([*keys, expression("zone", "Exists"), expression("size", "Exists")], ["size", "zone"]),
        ([expression("nowhere", "Exists"), expression("zone", "Exists")], []),
    ]
    for requirements, read in found:
        evaluated.clear()
        selector = {"nodeSelectorTerms": [{"matchExpressions": requirements}]}
        compiled = compile_node_selector(msgspec.convert(selector, api.NodeSelector))
        mask = match_nodes(nodes, compiled, slice(0, nodes.high))
        names = {info.name for info in nodes if compiled.matches(info.labels, info.name)}
        assert {info.name for info in nodes if mask[info.slot]} == names
        assert evaluated == read
    assert len(nodes.labels) == 2
