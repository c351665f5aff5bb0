"""The Gymnasium environment: its contract, determinism, masks, agents, and the policy as a plugin."""

from __future__ import annotations

import random
import re
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
from stowplan.framework import Pod  # noqa: E402
from stowplan.gym import PlaceEnv, best_fit_agent, linear_policy, policy_agent, policy_plugin, random_agent  # noqa: E402
from stowplan.gym.agents import Agent  # noqa: E402
from stowplan.gym.features import NODE_FEATURES, ClusterFeatures  # noqa: E402

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


def plain_features(world: World, asked: Pod) -> list[list[float]]:
    rows = []
    nodes = world.cluster.nodes
    for info in nodes.infos[: nodes.high]:
        if info is None:
            rows.append([0.0] * len(NODE_FEATURES))
            continue
        slot, row = nodes.slot_of[info.name], []
        for resource in ("cpu", "memory"):
            size = nodes.allocatable[resource].array
            used = sum(each.template.requests.get(resource, 0) for each in info.pods.values())
            left, whole = size[slot] - used, max(size[slot], 1)
            row += [size[slot] / max(size.max(), 1), left / whole]
            row.append((left - asked.template.requests.get(resource, 0)) / whole)
        row.append((nodes.allowed_pods.array[slot] - len(info.pods)) / max(nodes.allowed_pods.array[slot], 1))
        rows.append([min(max(value, 0.0), 1.0) for value in row])
    return rows


def test_kept_features_equal_the_plain_form() -> None:
    """After any number of changes of pods and nodes, for pods with different requests."""
    rng = random.Random(3)
    world = World([node(f"n{number}", cpu=8, memory="32Gi", pods=9) for number in range(20)])
    features, names, placed = ClusterFeatures(world.cluster), list(range(20)), list[str]()
    asked = [world.pod(pod(f"a{n}", requests={"cpu": f"{n * 700}m", "memory": f"{n * 3}Gi"})) for n in range(4)]
    for step in range(150):
        for _ in range(rng.choice([0, 1, 2, 5, 30])):
            if placed and rng.random() < 0.5:
                world.cluster.remove_pod(placed.pop(rng.randrange(len(placed))))
            else:
                item = pod(
                    f"p{step}-{len(placed)}", f"n{rng.choice(names)}", requests={"cpu": f"{rng.randrange(3000)}m"}
                )
                world.add_pod(item)
                placed.append(item["metadata"]["uid"])
        if step % 40 == 39:
            names.append(20 + step)
            world.put_node(node(f"n{names[-1]}", cpu=rng.randrange(4, 20), memory="64Gi"))
        for each in rng.sample(asked, 2):
            found = features.of_nodes(each, 24 if step < 75 else 0)
            plain = np.array(plain_features(world, each), dtype=np.float32)
            assert found.shape[0] == max(24 if step < 75 else 0, len(plain))
            np.testing.assert_allclose(found[: len(plain)], plain, rtol=1e-6, atol=1e-7)
            assert not found[len(plain) :].any()
            np.testing.assert_array_equal(found[: len(plain)], ClusterFeatures(world.cluster).of_nodes(each))


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


def test_the_speed_is_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("stowplan.bench.machine.CALIBRATION_LOOPS", 1000)
    monkeypatch.setattr(sys, "argv", ["speed.py", "--nodes=20", "--steps=30"])
    runpy.run_path(str(EXAMPLE / "speed.py"), run_name="__main__")
    assert re.fullmatch(r"20 nodes: [\d,]+ steps per CPU second, [\d,]+ scaled\n", capsys.readouterr().out)
