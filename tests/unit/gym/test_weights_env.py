"""The environment of weights: its contract, the steps, the weights that an action sets, and the reward."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402

from stowplan.config import KubeSchedulerConfiguration, default_configuration  # noqa: E402
from stowplan.config.types import Plugin, PluginSet  # noqa: E402
from stowplan.errors import InputError  # noqa: E402
from stowplan.gym import CLUSTER_FEATURES, PlaceEnv, WeightsEnv  # noqa: E402
from stowplan.plugins.registry import REGISTRY  # noqa: E402
from stowplan.simulator.scenario import ScenarioSimulation, load_scenario  # noqa: E402

SCENARIO = Path(__file__).parents[3] / "examples" / "09-learning" / "scenario.yaml"
WEIGHTS = {"NodeResourcesFit": 0, "NodeResourcesBalancedAllocation": 70, "ImageLocality": 3}
HORIZON_SECONDS = 7200


def action_of(env: WeightsEnv, weights: dict[str, int]) -> np.ndarray[Any, Any]:
    return np.array([weights.get(name, 0) / 100 for name in env.plugins], dtype=np.float32)


def played(env: Any, agent_seed: int, seed: int = 1) -> list[tuple[float, float, int, float]]:
    rng = np.random.default_rng(agent_seed)
    env.reset(seed=seed)
    found = []
    for _ in range(4):
        action = rng.random(env.action_space.shape, dtype=np.float32)
        observation, reward, _, _, info = env.step(action)
        found.append((reward, info["time"], info["pending"], float(observation["nodes"].sum())))
    return found


def placements(simulation: Any) -> dict[str, list[str]]:
    nodes = simulation.engine.cluster.nodes
    return {info.name: sorted(pod.key for pod in info.pods.values()) for info in nodes}


def configured(weights: dict[str, int]) -> KubeSchedulerConfiguration:
    """The default configuration with these plugins as the only ones that score; those with weight 0 do not."""
    config = default_configuration()
    enabled = tuple(Plugin(name=name, weight=weight) for name, weight in weights.items() if weight)
    score = PluginSet(enabled=enabled, disabled=(Plugin(name="*"),))
    profile = config.profiles[0]
    return replace(config, profiles=(replace(profile, plugins=replace(profile.plugins, score=score)),))


@pytest.mark.filterwarnings("ignore")
def test_gymnasium_accepts_the_environment() -> None:
    env = gymnasium.make("stowplan/Weights-v0", scenario=str(SCENARIO))
    check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize("reward", ["-wait", "-jct", "+utilisation"])
def test_equal_seeds_and_actions_give_equal_episodes(reward: Any) -> None:
    env = WeightsEnv(SCENARIO, interval=600, reward=reward)
    one = played(env, 4)
    assert one == played(env, 4)
    assert one != played(env, 4, seed=2)
    assert [time for _, time, _, _ in one] == [600.0 * step for step in range(1, 5)]
    total = sum(each for each, _, _, _ in one)
    assert total > 0 if reward == "+utilisation" else total < 0


def test_the_scheduler_decides_as_with_the_weights_in_its_configuration() -> None:
    """Also with weight 0, which equals a plugin that is disabled at Score."""
    env = WeightsEnv(SCENARIO, interval=900)
    env.reset(seed=5)
    ended = False
    while not ended:
        _, _, ended, _, info = env.step(action_of(env, WEIGHTS))
    assert {name: weight for name, weight in info["weights"].items() if weight} == {
        name: weight for name, weight in WEIGHTS.items() if weight
    }
    plain = ScenarioSimulation(load_scenario(str(SCENARIO)), 5, configured(WEIGHTS), REGISTRY)
    plain.run_until(HORIZON_SECONDS)
    default = ScenarioSimulation(load_scenario(str(SCENARIO)), 5, default_configuration(), REGISTRY)
    default.run_until(HORIZON_SECONDS)
    assert placements(env.simulation) == placements(plain.simulation)
    assert placements(env.simulation) != placements(default.simulation)


def test_new_weights_hold_from_the_next_step_on() -> None:
    """The kept answers of the default weights are not used for later decisions."""
    env = WeightsEnv(SCENARIO, interval=1800)
    env.reset(seed=5)
    env.step(env.profile_action())
    profile = env.simulation.engine.profiles["default-scheduler"]
    chosen: list[str] = []
    expected: list[str] = []

    def decide(pod: Any) -> Any:
        found = type(profile).decide(profile, pod)
        chosen.append(found.node_name)
        expected.append(profile.decide_afresh(pod).node_name)
        return found

    vars(profile)["decide"] = decide
    env.step(action_of(env, WEIGHTS))
    env.step(action_of(env, {"NodeResourcesFit": 100}))
    assert chosen == expected
    assert len(chosen) > 100


def test_the_reward_does_not_depend_on_the_length_of_steps() -> None:
    totals = []
    for interval in (100.0, 10_000.0):
        env = WeightsEnv(SCENARIO, interval=interval)
        env.reset(seed=3)
        total, ended = 0.0, False
        while not ended:
            _, reward, ended, _, info = env.step(env.profile_action())
            total += reward
        assert info["time"] == HORIZON_SECONDS
        totals.append(total)
    assert totals == pytest.approx([totals[0]] * 2)
    other = PlaceEnv(SCENARIO, nodes=12)
    other.reset(seed=3)
    total, ended = other._earned, False
    while not ended:
        _, reward, ended, _, _ = other.step(other.profile_action())
        total += reward
    assert total == pytest.approx(totals[0])


def test_values_become_integer_weights() -> None:
    env = WeightsEnv(SCENARIO, max_steps=2)
    config = default_configuration()
    assert env.plugins == tuple(dict.fromkeys(env.plugins))
    assert set(env.plugins) < {plugin.name for plugin in config.profiles[0].plugins.multi_point.enabled}
    values = np.zeros(len(env.plugins))
    values[:5] = [-1, 0.004, 0.017, 0.999, 7]
    assert list(env.weights(values).values())[:5] == [0, 0, 2, 100, 100]
    _, info = env.reset()
    assert env.weights(env.profile_action()) == info["weights"]
    assert info["weights"]["TaintToleration"] == 3
    with pytest.raises(ValueError, match="numbers from 0 to 1 are expected"):
        env.step(np.zeros(2))
    with pytest.raises(ValueError, match="numbers from 0 to 1 are expected"):
        env.step(np.full(len(env.plugins), np.nan))
    assert [env.step(values)[2:4] for _ in range(2)] == [(False, False), (False, True)]


def test_observations_are_aggregates() -> None:
    env = WeightsEnv(SCENARIO, interval=3600)
    observation, _ = env.reset(seed=1)
    assert observation["nodes"].tolist() == [[1.0] * 5, [0.0] * 5, [1.0] * 5, [1.0] * 5]
    observation, _, _, _, info = env.step(env.profile_action())
    nodes = env.simulation.engine.cluster.nodes
    cpu = [1 - sum(pod.template.requests["cpu"] for pod in node.pods.values()) / 8000 for node in nodes]
    column = CLUSTER_FEATURES.index("cpu free")
    expected = [np.mean(cpu), np.std(cpu), min(cpu), max(cpu)]
    np.testing.assert_allclose(observation["nodes"][:, column], expected, rtol=1e-5)
    assert observation["time"].tolist() == pytest.approx([0.5, info["pending"] / 1000])
    assert info["pending"] > 0
    mean, highest = observation["pods"]
    assert highest[0] == 0.75
    assert 0 < mean[3] <= highest[3] <= 1


def test_mistakes_are_reported() -> None:
    with pytest.raises(InputError, match="interval 0: a positive number of seconds is expected"):
        WeightsEnv(SCENARIO, interval=0)
    with pytest.raises(InputError, match='unknown reward "-cost"'):
        WeightsEnv(SCENARIO, reward="-cost")  # type: ignore[arg-type]
    env = WeightsEnv(SCENARIO, interval=HORIZON_SECONDS)
    env.reset()
    assert env.step(env.profile_action())[2]
    with pytest.raises(InputError, match="the episode has ended: call reset"):
        env.step(env.profile_action())


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_environments_run_as_a_vector(mode: str) -> None:
    found = []
    for _ in range(2):
        envs = gymnasium.make_vec(
            "stowplan/Weights-v0", num_envs=2, vectorization_mode=mode, scenario=str(SCENARIO), interval=900
        )
        observation, _ = envs.reset(seed=[1, 2])
        assert observation["nodes"].shape == (2, 4, len(CLUSTER_FEATURES))
        rewards = [envs.step(np.full(envs.action_space.shape, 0.5, dtype=np.float32))[1].tolist() for _ in range(4)]
        envs.close()
        found.append(rewards)
    assert found[0] == found[1]
    assert found[0][-1][0] != found[0][-1][1]
