"""Gymnasium environments of simulated clusters, and learned policies as plugins. Needs the extra `gym`.

Belongs here: the environments in which an agent chooses nodes (`place_env`) or weights (`weights_env`), their common
part (`scenario_env`), configuration and plugins (`scenario_plugins`), the nodes to choose from (`feasible_nodes`),
features (`features`), simple agents (`agents`), and the plugin that runs a policy in simulator, scheduler and extender
(`policy_plugin`).
Does not belong here: training. May import: `simulator` and the rooms below it.

Importing this package registers `stowplan/Place-v0` and `stowplan/Weights-v0`.
"""

import gymnasium

from stowplan.gym.agents import best_fit_agent, linear_policy, policy_agent, random_agent
from stowplan.gym.features import CLUSTER_FEATURES, NODE_FEATURES, POD_FEATURES, ClusterFeatures
from stowplan.gym.place_env import PlaceEnv
from stowplan.gym.policy_plugin import policy_plugin
from stowplan.gym.weights_env import WeightsEnv

gymnasium.register(id="stowplan/Place-v0", entry_point="stowplan.gym:PlaceEnv")
gymnasium.register(id="stowplan/Weights-v0", entry_point="stowplan.gym:WeightsEnv")

__all__ = [
    "CLUSTER_FEATURES",
    "NODE_FEATURES",
    "POD_FEATURES",
    "ClusterFeatures",
    "PlaceEnv",
    "WeightsEnv",
    "best_fit_agent",
    "linear_policy",
    "policy_agent",
    "policy_plugin",
    "random_agent",
]
