"""The environment in which an agent chooses the weights of the score plugins.

One step is an interval of simulated time, in which the scheduler decides by itself with these weights.
"""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from stowplan.cache import Cluster
from stowplan.errors import InputError
from stowplan.gym.features import CLUSTER_FEATURES, POD_FEATURES, Features
from stowplan.gym.scenario_env import Observation, Reward, ScenarioEnv
from stowplan.gym.scenario_plugins import Config, GivenPlugins
from stowplan.queue.nominator import Nominator
from stowplan.runtime import build_profiles
from stowplan.simulator.scenario import LoadedScenario

MAX_WEIGHT = 100

Weights = NDArray[Any]


class WeightsEnv(ScenarioEnv[Weights]):
    """Chooses the weights of the first profile's score plugins for the next `interval` seconds of simulated time.

    Action: for each plugin, in the order of `plugins`, a value from 0 to 1. The plugin's weight is the integer nearest
    to 100 times the value, of two the even one. Values out of bounds count as the nearest bound; a plugin with weight 0
    has no influence. Pods already placed stay where they are.

    Observation: `nodes`, the mean, standard deviation, minimum and maximum of CLUSTER_FEATURES over all nodes; `pods`,
    the mean and maximum of POD_FEATURES over pending pods; `time` (share of the horizon, pending pods / 1000).
    """

    def __init__(
        self,
        scenario: str | Path | LoadedScenario,
        interval: float = 300.0,
        reward: Reward = "-wait",
        config: Config | None = None,
        *,
        plugins: GivenPlugins = (),
        max_steps: int | None = None,
    ) -> None:
        super().__init__(scenario, reward, config, plugins, max_steps)
        if not 0 < interval < math.inf:
            raise InputError(f"interval {interval}: a positive number of seconds is expected")
        self._interval = interval
        configured, registry = self._scheduler
        cluster = Cluster(release=configured.release)
        profiles = build_profiles(configured, registry, cluster, Nominator(), random.Random(0))
        scorers = next(iter(profiles.values())).scorers
        self.plugins = tuple(plugin.name for plugin, _ in scorers)
        """The score plugins, in the order of the action's values: the order in which the profile runs them."""
        self._configured = [weight for _, weight in scorers]
        self.action_space = spaces.Box(0, 1, (len(scorers),), np.float32)
        self.observation_space = spaces.Dict(
            {
                "nodes": spaces.Box(0, 1, (4, len(CLUSTER_FEATURES)), np.float32),
                "pods": spaces.Box(0, 1, (2, len(POD_FEATURES)), np.float32),
                "time": spaces.Box(0, 1, (2,), np.float32),
            }
        )
        self._ended = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        super().reset(seed=seed)
        self._start(seed)
        self.simulation.settle()
        self._ended = self._run.finished
        return self._observation(), self._info()

    def step(self, action: Weights) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        if self._ended:
            raise InputError("the episode has ended: call reset")
        weights = self.weights(action)
        if weights != self._current():
            self._profile.set_weights(weights)
        self._earned = 0.0
        self._steps += 1
        self._run.run_until(self._run.now + self._interval)
        self._ended = self._run.finished
        return self._observation(), self._earned, self._ended, not self._ended and self._truncated(), self._info()

    def weights(self, action: Weights) -> dict[str, int]:
        """The weights that an action sets, by plugin."""
        values = np.asarray(action, dtype=np.float64)
        if values.shape != (len(self.plugins),) or np.isnan(values).any():
            raise ValueError(f"action {action}: {len(self.plugins)} numbers from 0 to 1 are expected")
        scaled = np.rint(values.clip(0, 1) * MAX_WEIGHT)
        return {name: int(weight) for name, weight in zip(self.plugins, scaled, strict=True)}

    def profile_action(self) -> NDArray[np.float32]:
        """The action that sets the configured weights, up to 100."""
        return np.minimum(np.array(self._configured, dtype=np.float32) / MAX_WEIGHT, 1)

    def _current(self) -> dict[str, int]:
        return {plugin.name: weight for plugin, weight in self._profile.scorers}

    def _observation(self) -> Observation:
        rows = self._features.of_cluster()
        if len(rows):
            nodes = np.stack([rows.mean(axis=0), rows.std(axis=0), rows.min(axis=0), rows.max(axis=0)])
        else:
            nodes = np.zeros((4, len(CLUSTER_FEATURES)), dtype=np.float32)
        return {"nodes": nodes.clip(0, 1), "pods": self._pending(), "time": self._time()}

    def _pending(self) -> Features:
        pending = [each.pod for each in self.simulation.engine.pending.values()]
        rows = [self._features.of_pod(pod, self._waited(pod)) for pod in pending]
        if not rows:
            return np.zeros((2, len(POD_FEATURES)), dtype=np.float32)
        return np.stack([np.mean(rows, axis=0), np.max(rows, axis=0)]).clip(0, 1)

    def _info(self) -> dict[str, Any]:
        return {
            "weights": self._current(),
            "time": self._run.now,
            "pending": len(self.simulation.engine.pending),
        }
