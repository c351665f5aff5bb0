from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import pytest
from tests.builders import World, node, pod

from stowplan.framework import CycleState, Mask, Nodes, Pod, PodTemplate, Scores
from stowplan.plugins.base import InTreePlugin
from stowplan.runtime.decide.scoring import Weighted
from stowplan.runtime.decide.shared_answers import NodePlugins, NodeView, SharedNodeAnswers


class Counting(InTreePlugin):
    """Lets odd slots pass and scores slots by their number; counts the nodes that it is asked about."""

    name = "Counting"
    scope = "node"
    normalize = "default"

    def __init__(self) -> None:
        self.asked = 0
        self.reads = "app"

    def signature(self, template: PodTemplate) -> Hashable:
        return template.labels.get(self.reads)

    def passing_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Mask:
        self.asked += len(nodes)
        odd: Mask = nodes.slots() % 2 == 1
        return odd

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Scores:
        self.asked += len(nodes)
        return nodes.slots().astype(np.int64)


class Asking:
    def __init__(self, nodes: int = 6) -> None:
        self.world = World(node(f"n{i}") for i in range(nodes))
        self.plugin = Counting()
        self.answers = SharedNodeAnswers(self.world.cluster.nodes)
        self.plugins = NodePlugins([self.plugin], [Weighted(self.plugin, 2)], [])

    def view(self, app: str, plugins: NodePlugins | None = None) -> NodeView | None:
        labelled = self.world.pod(pod("p", labels={"app": app}))
        return self.answers.known_view(plugins or self.plugins, CycleState(), labelled)


@pytest.fixture
def asking() -> Asking:
    return Asking()


def test_answers_are_made_the_second_time_and_kept(asking: Asking) -> None:
    assert asking.view("a") is None
    assert asking.plugin.asked == 0
    view = asking.view("a")
    assert view is not None
    assert view.ok.tolist() == [False, True] * 3
    assert view.open == 3
    assert view.slots.tolist() == [1, 3, 5]
    assert view.score is not None
    assert view.score.tolist() == [0, 2, 4, 6, 8, 10]
    asked = asking.plugin.asked
    assert asking.view("a") is view
    assert asking.plugin.asked == asked


def test_other_questions_have_other_answers(asking: Asking) -> None:
    unfiltered = NodePlugins([], [Weighted(asking.plugin, 2)], [])
    normalized = NodePlugins([], [], [Weighted(asking.plugin, 2)])
    views = []
    for plugins in (asking.plugins, unfiltered, normalized):
        asking.view("a", plugins)
        views.append(asking.view("a", plugins))
    assert [view.open for view in views if view] == [3, 6, 6]
    assert [view.score is None for view in views if view] == [False, False, True]
    assert [len(view.normalized) for view in views if view] == [0, 0, 1]
    assert asking.view("b") is None


def test_only_nodes_that_changed_are_evaluated_again() -> None:
    asking = Asking(nodes=40)
    asking.view("a")
    asking.view("a")
    asking.world.put_node(node("n2", 16))
    before = asking.view("a")  # The plugin's vectors are kept from their second use on.
    asked = asking.plugin.asked
    asking.world.put_node(node("n4", 16))
    after = asking.view("a")
    assert after is not None
    assert after is not before
    assert after.open == 20
    assert asking.plugin.asked == asked + 2, "one node for the filter, and one for the score"
    asking.world.cluster.remove_node("n5")
    left = asking.view("a")
    assert left is not None
    assert left.slots.tolist() == [slot for slot in range(1, 40, 2) if slot != 5]


def test_scores_that_are_alike_need_no_normalising(asking: Asking) -> None:
    class Alike(Counting):
        def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Scores:
            return np.full(len(nodes), 7, dtype=np.int64)

    plugins = NodePlugins([], [], [Weighted(Alike(), 1)])
    asking.view("a", plugins)
    view = asking.view("a", plugins)
    assert view is not None
    assert view.normalized == []


def test_ranks_hold_score_and_noise(asking: Asking) -> None:
    asking.view("a")
    view = asking.view("a")
    assert view is not None
    ranks = view.ranks(np.arange(8, dtype=np.int64), np.int32)
    assert ranks.dtype == np.int32
    assert ranks.tolist() == [(2 * slot + 1 << 16) + slot for slot in range(6)]
