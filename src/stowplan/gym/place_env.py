"""The environment in which an agent chooses the node of each pod.

The agent is called where the scheduler would score: the pod at the head of the queue has passed the filters on more
than one node. Everything else (filters, preemption, binding, arrivals and ends of pods) is the simulation's.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from stowplan.config import KubeSchedulerConfiguration, default_configuration
from stowplan.errors import InputError
from stowplan.framework import CycleState, Mask, Pod
from stowplan.gym.features import NODE_FEATURES, POD_FEATURES, ClusterFeatures
from stowplan.plugins.registry import REGISTRY
from stowplan.runtime import Decision, Profile
from stowplan.runtime.decide.filtering import NO_OBJECTION
from stowplan.runtime.points.cycle_error import CycleError
from stowplan.simulator.scenario import LoadedScenario, ScenarioSimulation, load_scenario

Observation = dict[str, NDArray[Any]]
Reward = Literal["-wait", "-jct", "+utilisation"]

DEFERRED = "the agent deferred the pod"


class PlaceEnv(gymnasium.Env[Observation, int]):
    """Chooses nodes by slot, 0 to `nodes` - 1; the action `nodes` defers the pod, which returns after its backoff.

    Observation: `nodes` (NODE_FEATURES), `pod` (POD_FEATURES), `time` (share of the horizon, pending pods / 1000), and
    `action_mask`, which is also in `info` and in `action_masks()`. Slots beyond the cluster's are masked zeros.

    Rewards are integrals over simulated time, in hours, so their sum does not depend on the number of decisions:
    `-wait` pending pods, `-jct` pods that are not finished, `+utilisation` share of CPU that is requested.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 (Gymnasium's attribute)

    def __init__(
        self,
        scenario: str | Path | LoadedScenario,
        nodes: int = 256,
        reward: Reward = "-wait",
        config: KubeSchedulerConfiguration | None = None,
        *,
        max_steps: int | None = None,
        ask_single: bool = False,
        on_invalid: Literal["raise", "defer"] = "raise",
    ) -> None:
        """`ask_single`: call the agent also for a pod with one feasible node."""
        self._scenario = scenario if isinstance(scenario, LoadedScenario) else load_scenario(str(scenario))
        if reward not in ("-wait", "-jct", "+utilisation"):
            raise InputError(f'unknown reward "{reward}": one of -wait, -jct, +utilisation')
        self._size, self._reward, self._max_steps = nodes, reward, max_steps
        self._config = config or default_configuration()
        self._least = 1 if ask_single else 2
        self._on_invalid = on_invalid
        self.action_space = spaces.Discrete(nodes + 1)
        self.observation_space = spaces.Dict(
            {
                "nodes": spaces.Box(0, 1, (nodes, len(NODE_FEATURES)), np.float32),
                "pod": spaces.Box(0, 1, (len(POD_FEATURES),), np.float32),
                "time": spaces.Box(0, 1, (2,), np.float32),
                "action_mask": spaces.Box(0, 1, (nodes + 1,), np.int8),
            }
        )
        self._mask: NDArray[np.int8] = np.zeros(nodes + 1, dtype=np.int8)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        super().reset(seed=seed)
        number = self._scenario.spec.seed if seed is None else seed
        self._run = ScenarioSimulation(self._scenario, number, self._config, REGISTRY)
        self.simulation = self._run.simulation
        self._profile: Profile = next(iter(self.simulation.engine.profiles.values()))
        vars(self._profile)["decide"] = self._decide
        self._nodes = self._profile.cluster.nodes
        self._features = ClusterFeatures(self._profile.cluster)
        self._pod: Pod | None = None
        self._action = -1
        self._steps = 0
        self._earned = 0.0
        self.simulation.settle()
        if self._nodes.high > self._size:
            raise InputError(f"the scenario has {self._nodes.high} nodes, the environment {self._size}")
        self._until_asked()
        observation = self._observation()
        return observation, self._info(observation)

    def step(self, action: int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        if self._pod is None:
            raise InputError("the episode has ended: call reset")
        action = int(action)
        if not 0 <= action <= self._size or not self._mask[action]:
            if self._on_invalid == "raise":
                raise ValueError(f"action {action} is masked")
            action = self._size
        self._action, self._earned = action, 0.0
        self._steps += 1
        self.simulation.step()
        self._action = -1
        self._until_asked()
        ended = self._pod is None
        truncated = not ended and self._max_steps is not None and self._steps >= self._max_steps
        observation = self._observation()
        return observation, self._earned, ended, truncated, self._info(observation)

    def action_masks(self) -> NDArray[np.bool_]:
        """The allowed actions, as sb3-contrib's MaskablePPO reads them."""
        return self._mask.astype(np.bool_)

    def profile_action(self) -> int:
        """The action of the scheduler itself."""
        assert self._pod is not None
        return self._nodes.slot_of[type(self._profile).decide(self._profile, self._pod).node_name]

    def _until_asked(self) -> None:
        """Run the simulation up to the next pod for the agent, or to the end."""
        simulation, run = self.simulation, self._run
        horizon = self._scenario.horizon.time
        until = None if horizon == math.inf else self._scenario.start + horizon
        self._pod = None
        self._mask[:] = 0
        while not run.finished:
            heads = simulation.engine.next_to_pop(1)
            if heads and self._asks(heads[0].pod):
                return
            if simulation.step():
                continue
            before, rate = simulation.clock.now, self._rate()
            moved = simulation.advance(until)
            if not moved and until is not None:
                simulation.clock.now = max(until, before)
            self._earned += rate * (simulation.clock.now - before) / 3600
            if not moved:
                return

    def _asks(self, pod: Pod) -> bool:
        """Whether the agent chooses the node of the pod; sets the mask."""
        profile = self._profile
        if profile.nominator.by_node or pod.nominated_node_name or pod.spec.scheduling_group is not None:
            return False
        if profile.cluster.templates.version:
            profile.renew_templates(pod)
        planned = profile.planned(pod)
        if planned is None:
            return False
        state = CycleState()
        try:
            pre_filtered = planned.run_pre_filters(state, pod)
            if pre_filtered is not NO_OBJECTION:
                return False
            self._feasible = planned.run_filters(state, pod, pre_filtered)
        except CycleError:
            return False
        if self._feasible < self._least:
            return False
        passing: Mask = planned.passing()
        self._mask[: len(passing)] = passing
        self._mask[self._size] = 1
        self._pod, self._state = pod, state
        return True

    def _decide(self, pod: Pod) -> Decision:
        profile = self._profile
        if self._action < 0 or self._pod is None or pod.uid != self._pod.uid:
            return type(profile).decide(profile, pod)
        if self._action == self._size:
            return Decision.failed(profile, pod, CycleError(DEFERRED))
        info = self._nodes.infos[self._action]
        assert info is not None
        return Decision(profile, pod, info.name, self._feasible, len(self._nodes), self._state)

    def _rate(self) -> float:
        """Reward per second while nothing happens."""
        if self._reward == "-wait":
            return -float(len(self.simulation.engine.pending))
        if self._reward == "-jct":
            return -float(len(self._run.kubelet.lives))
        high = self._nodes.high
        offered = self._nodes.allocatable["cpu"].array[:high].sum()
        return float(self._nodes.requested["cpu"].array[:high].sum() / offered) if offered else 0.0

    def _observation(self) -> Observation:
        if self._pod is not None:
            nodes = self._features.of_nodes(self._pod, self._size)
            pod = self._features.of_pod(self._pod)
        else:
            nodes = np.zeros((self._size, len(NODE_FEATURES)), dtype=np.float32)
            pod = np.zeros(len(POD_FEATURES), dtype=np.float32)
        horizon = self._scenario.horizon.time
        share = self._run.now / horizon if math.isfinite(horizon) else 0.0
        pending = len(self.simulation.engine.pending) / 1000
        time = np.array([min(max(share, 0.0), 1.0), min(pending, 1.0)], dtype=np.float32)
        return {"nodes": nodes, "pod": pod, "time": time, "action_mask": self._mask.copy()}

    def _info(self, observation: Observation) -> dict[str, Any]:
        return {
            "action_mask": observation["action_mask"],
            "pod": "" if self._pod is None else self._pod.key,
            "time": self._run.now,
            "pending": len(self.simulation.engine.pending),
        }
