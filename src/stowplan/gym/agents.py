"""Simple agents, and episodes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stowplan.gym.features import NODE_FEATURES, Features

Policy = Callable[[Features, Features], NDArray[Any]]
"""Preferences of nodes from the features of all nodes and of the pod; the highest is chosen."""
Agent = Callable[[dict[str, NDArray[Any]]], int]


def random_agent(seed: int = 0) -> Agent:
    """A feasible node at random."""
    rng = np.random.default_rng(seed)

    def act(observation: dict[str, NDArray[Any]]) -> int:
        feasible = observation["action_mask"][:-1].nonzero()[0]
        return int(feasible[rng.integers(len(feasible))])

    return act


def policy_agent(policy: Policy) -> Agent:
    """The feasible node that the policy prefers."""

    def act(observation: dict[str, NDArray[Any]]) -> int:
        preferences = np.asarray(policy(observation["nodes"], observation["pod"]), dtype=np.float64)
        return int(np.where(observation["action_mask"][:-1] > 0, preferences, -np.inf).argmax())

    return act


def best_fit_agent() -> Agent:
    """The node on which the least CPU is left."""
    return policy_agent(lambda nodes, pod: -nodes[:, NODE_FEATURES.index("cpu left")])


def linear_policy(weights: NDArray[Any]) -> Policy:
    """Preferences as a weighted sum of a node's features."""
    return lambda nodes, pod: nodes @ weights
