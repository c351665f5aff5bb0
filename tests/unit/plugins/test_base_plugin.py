from types import SimpleNamespace
from typing import Any

import numpy as np

from stowplan.framework import CycleState, Nodes, reject
from stowplan.plugins.base import InTreePlugin


def plugin(kind: type[InTreePlugin]) -> Any:
    return kind(None, SimpleNamespace(cluster=SimpleNamespace(nodes=())))  # type: ignore[arg-type]


class Reasons(InTreePlugin):
    def filter_nodes(self, state: Any, pod: Any, nodes: Nodes) -> Any:
        yield np.array([True, False, False, True]), reject("a")
        yield np.array([True, True, False, False]), reject("b")


def test_passing_nodes_are_those_without_a_reason() -> None:
    nodes = Nodes(slice(0, 4), 4, [None] * 4)
    assert plugin(Reasons).passing_nodes(CycleState(), None, nodes).tolist() == [False, False, True, False]


def test_the_hooks_promise_nothing_by_default() -> None:
    silent = plugin(InTreePlugin)
    nodes = Nodes(slice(0, 2), 2, [None] * 2)
    assert silent.passing_nodes(CycleState(), None, nodes).tolist() == [True, True]
    assert (
        silent.slot_filter(None) is silent.slot_scorer(None) is silent.shared_scorer() is silent.demands(None) is None
    )
    assert (silent.idle_filter(None), silent.idle_score(None), silent.template_only) == (False, False, False)
