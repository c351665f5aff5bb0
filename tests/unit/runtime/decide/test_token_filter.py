from __future__ import annotations

from tests.builders import HOSTNAME, World, away, node, pod, term

from stowplan.framework import CycleState
from stowplan.runtime.decide.token_filter import TokenFilter


def test_a_token_that_changes_in_most_cycles_is_not_worth_keeping_answers_for() -> None:
    world = World([node("a")])
    made = world.pod(pod("p", affinity=away(term(HOSTNAME, "r"))))
    plugin = world.plugin("InterPodAffinity")
    part, tokens = TokenFilter(plugin, made.template), iter(range(100))
    plugin.filter_token = lambda pod: next(tokens)
    state = CycleState()
    plugin.pre_filter(state, made, world.cluster.nodes.everything())
    seen = []
    for _ in range(12):
        assert part.refresh(state, made, world.cluster.nodes.everything(), 1)
        seen.append(part.restless)
    assert seen == [False] * 8 + [True] * 4
