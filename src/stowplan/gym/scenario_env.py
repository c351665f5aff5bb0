"""A simulated scenario with a reward: the common part of the environments."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Literal, TypeVar

import gymnasium
import numpy as np
from numpy.typing import NDArray

from stowplan.errors import InputError
from stowplan.framework import Pod
from stowplan.gym.features import ClusterFeatures, Features, seconds_since
from stowplan.gym.scenario_plugins import Config, GivenPlugins, SchedulerSetup
from stowplan.runtime import Profile
from stowplan.simulator.scenario import LoadedScenario, ScenarioSimulation, load_scenario

Observation = dict[str, NDArray[Any]]
Action = TypeVar("Action")
Reward = Literal["-wait", "-jct", "+utilisation"]


class ScenarioEnv(gymnasium.Env[Observation, Action]):
    """Runs a scenario. Rewards are integrals over simulated time, in hours, so their sum does not depend on the number
    of steps: `-wait` pending pods, `-jct` pods that are not finished, `+utilisation` share of CPU that is requested."""

    metadata = {"render_modes": []}  # noqa: RUF012 (Gymnasium's attribute)

    def __init__(
        self,
        scenario: str | Path | LoadedScenario,
        reward: Reward,
        config: Config | None,
        plugins: GivenPlugins,
        max_steps: int | None,
    ) -> None:
        """`config`: in place of the scenario's, or the path of its file. `plugins`: beside the scenario's."""
        self._scenario = scenario if isinstance(scenario, LoadedScenario) else load_scenario(str(scenario))
        if reward not in ("-wait", "-jct", "+utilisation"):
            raise InputError(f'unknown reward "{reward}": one of -wait, -jct, +utilisation')
        self._reward, self._max_steps = reward, max_steps
        self._scheduler = SchedulerSetup.of(self._scenario, config, plugins)

    def _start(self, seed: int | None) -> None:
        """Start the scenario; the seed is the scenario's unless it is given."""
        number = self._scenario.spec.seed if seed is None else seed
        self._run = ScenarioSimulation(self._scenario, number, *self._scheduler)
        self.simulation = self._run.simulation
        self.simulation.on_time_passing = self._earn
        self._profile: Profile = next(iter(self.simulation.engine.profiles.values()))
        self._nodes = self._profile.cluster.nodes
        self._features = ClusterFeatures(self._profile.cluster)
        self._steps = 0
        self._earned = 0.0

    def _earn(self, seconds: float) -> None:
        """Add to the reward the seconds that are about to pass."""
        self._earned += self._rate() * seconds / 3600

    def _rate(self) -> float:
        """Reward per second while nothing happens."""
        if self._reward == "-wait":
            return -float(len(self.simulation.engine.pending))
        if self._reward == "-jct":
            return -float(len(self._run.kubelet.lives))
        high = self._nodes.high
        offered = self._nodes.allocatable["cpu"].array[:high].sum()
        return float(self._nodes.requested["cpu"].array[:high].sum() / offered) if offered else 0.0

    def _waited(self, pod: Pod) -> float:
        """Seconds since a pod's creation."""
        life = self._run.kubelet.lives.get(pod.uid)
        return 0.0 if life is None else seconds_since(life.pod.metadata.creation_timestamp, self.simulation.clock.now)

    def _truncated(self) -> bool:
        return self._max_steps is not None and self._steps >= self._max_steps

    def _time(self) -> Features:
        """Share of the horizon, and pending pods / 1000."""
        horizon = self._scenario.horizon.time
        share = self._run.now / horizon if math.isfinite(horizon) else 0.0
        pending = len(self.simulation.engine.pending) / 1000
        return np.array([min(max(share, 0.0), 1.0), min(pending, 1.0)], dtype=np.float32)
