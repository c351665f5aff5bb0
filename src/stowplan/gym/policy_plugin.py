"""A policy as a Score plugin, which runs in simulator, scheduler and extender."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from stowplan.framework import CycleState, Handle, Nodes, Plugin, Pod, Scores
from stowplan.gym.agents import Policy
from stowplan.gym.features import ClusterFeatures, seconds_since


def policy_plugin(policy: Policy, name: str = "LearnedPolicy") -> type[Plugin]:
    """A plugin class whose scores order the nodes as the policy does, with the same features as the environment."""

    class PolicyPlugin(Plugin):
        """Scores nodes by a policy."""

        def __init__(self, args: Any, handle: Handle) -> None:
            super().__init__(args, handle)
            self._features = ClusterFeatures(handle.cluster)

        def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Scores:
            waited = seconds_since(pod.metadata.creation_timestamp, self.handle.now())
            preferences = policy(self._features.of_nodes(pod), self._features.of_pod(pod, waited))
            return cast(Scores, np.asarray(preferences, dtype=np.float64)[nodes.index])

    PolicyPlugin.name = name
    PolicyPlugin.normalize = "min-max"
    return PolicyPlugin
