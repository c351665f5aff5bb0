"""The environment in which an agent chooses the node of each pod.

The agent is called where the scheduler would score: the pod at the head of the queue has passed the filters on more
than one node. Everything else (filters, preemption, binding, arrivals and ends of pods) is the simulation's.
"""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from stowplan.errors import InputError
from stowplan.framework import Pod
from stowplan.gym.feasible_nodes import FeasibleNodes, feasible_nodes
from stowplan.gym.features import NODE_FEATURES, POD_FEATURES
from stowplan.gym.scenario_env import Observation, Reward, ScenarioEnv
from stowplan.gym.scenario_plugins import Config, GivenPlugins
from stowplan.runtime import Decision, Profile
from stowplan.runtime.points.cycle_error import CycleError
from stowplan.simulator.scenario import LoadedScenario

DEFERRED = "the agent deferred the pod"


class PlaceEnv(ScenarioEnv[int]):
    """Chooses nodes by slot, 0 to `nodes` - 1; the action `nodes` defers the pod, which returns after its backoff.

    Observation: `nodes` (NODE_FEATURES), `pod` (POD_FEATURES), `time` (share of the horizon, pending pods / 1000), and
    `action_mask`, which is also in `info` and in `action_masks()`. Slots beyond the cluster's are masked zeros.
    """

    def __init__(
        self,
        scenario: str | Path | LoadedScenario,
        nodes: int = 256,
        reward: Reward = "-wait",
        config: Config | None = None,
        *,
        plugins: GivenPlugins = (),
        max_steps: int | None = None,
        ask_single: bool = False,
        on_invalid: Literal["raise", "defer"] = "raise",
    ) -> None:
        """`ask_single`: call the agent also for a pod with one feasible node."""
        super().__init__(scenario, reward, config, plugins, max_steps)
        self._size = nodes
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
        self._start(seed)
        self._profiles = self.simulation.engine.profiles
        for profile in self._profiles.values():
            vars(profile)["decide"] = partial(self._decide, profile)
        self._pod: Pod | None = None
        self._found: FeasibleNodes
        self._action = -1
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
        observation = self._observation()
        return observation, self._earned, ended, not ended and self._truncated(), self._info(observation)

    def action_masks(self) -> NDArray[np.bool_]:
        """The allowed actions, as sb3-contrib's MaskablePPO reads them."""
        return self._mask.astype(np.bool_)

    def profile_action(self) -> int:
        """The action of the scheduler itself."""
        assert self._pod is not None
        profile = self._profile_of(self._pod)
        return self._nodes.slot_of[type(profile).decide(profile, self._pod).node_name]

    def _profile_of(self, pod: Pod) -> Profile:
        return self._profiles[pod.template.spec.scheduler_name]

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
            if not simulation.advance(until):
                if until is not None:
                    simulation.pass_time(until)
                return

    def _asks(self, pod: Pod) -> bool:
        """Whether the agent chooses the node of the pod; sets the mask."""
        if pod.nominated_node_name or pod.spec.scheduling_group is not None:
            return False
        found = feasible_nodes(self._profile_of(pod), pod)
        if found is None or found.number < self._least:
            return False
        self._mask[: len(found.mask)] = found.mask
        self._mask[self._size] = 1
        self._pod, self._found = pod, found
        return True

    def _decide(self, profile: Profile, pod: Pod) -> Decision:
        if self._action < 0 or self._pod is None or pod.uid != self._pod.uid:
            return type(profile).decide(profile, pod)
        if self._action == self._size:
            return Decision.failed(profile, pod, CycleError(DEFERRED))
        info = self._nodes.infos[self._action]
        assert info is not None
        return Decision(profile, pod, info.name, self._found.number, len(self._nodes), self._found.state)

    def _observation(self) -> Observation:
        if self._pod is not None:
            nodes = self._features.of_nodes(self._pod, self._size)
            pod = self._features.of_pod(self._pod, self._waited(self._pod))
        else:
            nodes = np.zeros((self._size, len(NODE_FEATURES)), dtype=np.float32)
            pod = np.zeros(len(POD_FEATURES), dtype=np.float32)
        return {"nodes": nodes, "pod": pod, "time": self._time(), "action_mask": self._mask.copy()}

    def _info(self, observation: Observation) -> dict[str, Any]:
        return {
            "action_mask": observation["action_mask"],
            "pod": "" if self._pod is None else self._pod.key,
            "time": self._run.now,
            "pending": len(self.simulation.engine.pending),
        }
