"""The Gymnasium environment: its contract, determinism, masks, agents, and the policy as a plugin."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402
from tests.builders import World, node, pod  # noqa: E402

from stowplan.errors import InputError  # noqa: E402
from stowplan.gym import PlaceEnv, best_fit_agent, linear_policy, policy_agent, policy_plugin, random_agent  # noqa: E402
from stowplan.gym.agents import Agent  # noqa: E402
from stowplan.gym.features import NODE_FEATURES  # noqa: E402

EXAMPLE = Path(__file__).parents[3] / "examples" / "09-learning"
SCENARIO = EXAMPLE / "scenario.yaml"


def played(env: Any, agent: Agent, seed: int = 1, steps: int = 150) -> list[tuple[float, str, float]]:
    observation, info = env.reset(seed=seed)
    found = []
    for _ in range(steps):
        if not info["pod"]:
            break
        pod_key = info["pod"]
        observation, reward, ended, _, info = env.step(agent(observation))
        found.append((reward, pod_key, info["time"]))
        if ended:
            break
    return found


@pytest.mark.filterwarnings("ignore")
def test_gymnasium_accepts_the_environment() -> None:
    env = gymnasium.make("stowplan/Place-v0", scenario=str(SCENARIO), nodes=16, on_invalid="defer")
    check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize("reward", ["-wait", "-jct", "+utilisation"])
def test_equal_seeds_and_actions_give_equal_episodes(reward: Any) -> None:
    env = PlaceEnv(SCENARIO, nodes=16, reward=reward)
    one, other = (played(env, random_agent(4)) for _ in range(2))
    assert one == other
    assert len(one) == 150
    assert one != played(env, random_agent(4), seed=2)
    total = sum(each for each, _, _ in one)
    assert total > 0 if reward == "+utilisation" else total < 0


def test_masks_are_the_filters_and_the_pod_goes_where_it_is_sent() -> None:
    env = PlaceEnv(SCENARIO, nodes=16)
    observation, info = env.reset(seed=1)
    assert (observation["action_mask"] == info["action_mask"]).all()
    assert (env.action_masks() == info["action_mask"].astype(bool)).all()
    assert info["action_mask"].tolist() == [1] * 12 + [0] * 4 + [1]
    key = info["pod"]
    env.step(7)
    placed = env.simulation.engine.profiles["default-scheduler"].cluster.nodes.infos[7]
    assert placed is not None
    assert [each.key for each in placed.pods.values()] == [key]
    with pytest.raises(ValueError, match="action 13 is masked"):
        env.step(13)


def test_a_deferred_pod_comes_back() -> None:
    env = PlaceEnv(SCENARIO, nodes=16)
    _, info = env.reset(seed=1)
    deferred, seen = info["pod"], []
    _, _, _, _, info = env.step(16)
    for _ in range(30):
        seen.append(info["pod"])
        _, _, _, _, info = env.step(int(np.flatnonzero(info["action_mask"])[0]))
    assert deferred in seen


def test_episodes_end() -> None:
    env = PlaceEnv(SCENARIO, nodes=16, max_steps=20)
    observation, _ = env.reset(seed=1)
    for step in range(1, 21):
        observation, _, ended, truncated, _ = env.step(best_fit_agent()(observation))
        assert (ended, truncated) == (False, step == 20)
    with pytest.raises(InputError, match="the scenario has 12 nodes, the environment 4"):
        PlaceEnv(SCENARIO, nodes=4).reset()
    with pytest.raises(InputError, match='unknown reward "-cost"'):
        PlaceEnv(SCENARIO, reward="-cost")  # type: ignore[arg-type]


def test_the_plugin_of_a_policy_chooses_as_the_agent_does() -> None:
    policy = linear_policy(np.array([0.3, -0.5, -2.0, 0.1, 0.4, -0.2, 0.7]))
    env = PlaceEnv(SCENARIO, nodes=12)
    observation, info = env.reset(seed=3)
    world = World(
        [
            node(info_.name, cpu=8, memory="32Gi")
            for info_ in env.simulation.engine.profiles["default-scheduler"].cluster.nodes
        ],
        plugins={"LearnedPolicy": policy_plugin(policy)},
        config=only_policy(),
    )
    agent = policy_agent(policy)
    for number in range(60):
        asked = env._pod
        assert asked is not None
        action = agent(observation)
        requests = {"cpu": f"{asked.template.requests['cpu']}m", "memory": asked.template.requests["memory"]}
        decided = world.decide(pod(f"p{number}", requests=requests))
        mine = world.cluster.nodes.slot_of[decided.node_name]
        preferences = policy(observation["nodes"], observation["pod"])
        assert preferences[mine] == pytest.approx(preferences[action], abs=0.02)
        before = {each.name: len(each.pods) for each in env._nodes}
        observation, _, _, _, info = env.step(action)
        sync(world, env, before)
        if not info["pod"]:
            break


def sync(world: World, env: PlaceEnv, before: dict[str, int]) -> None:
    """The world's nodes get the pods that the environment's nodes have."""
    for info in env._nodes:
        mine = world.cluster.nodes.get(info.name)
        assert mine is not None
        for uid in [uid for uid in mine.pods if uid not in info.pods]:
            world.cluster.remove_pod(uid)
        for uid, each in info.pods.items():
            if uid not in mine.pods:
                requests = {"cpu": f"{each.template.requests['cpu']}m", "memory": each.template.requests["memory"]}
                item = pod(each.name, info.name, requests=requests)
                item["metadata"]["uid"] = uid
                world.add_pod(item)


def only_policy() -> dict[str, Any]:
    plugins = {
        "score": {"disabled": [{"name": "*"}], "enabled": [{"name": "LearnedPolicy"}]},
        "multiPoint": {"enabled": [{"name": "LearnedPolicy"}]},
    }
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "default-scheduler", "plugins": plugins}],
    }


def test_the_example_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "weights.npy"
    monkeypatch.setattr(sys, "argv", ["train.py", "--seconds=0.1", "--episodes=1", f"--out={out}"])
    runpy.run_path(str(EXAMPLE / "train.py"), run_name="__main__")
    assert [line.split("  ")[0] for line in capsys.readouterr().out.splitlines()] == [
        "random",
        "default profile",
        "trained",
    ]
    assert np.load(out).shape == (len(NODE_FEATURES),)
