"""Training and its result: vectors of environments, a policy that beats random nodes, and the policy as a plugin in
simulation, extender and scheduling engine."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

gymnasium = pytest.importorskip("gymnasium")

from tests.builders import node, pod, profile_config, typed  # noqa: E402
from tests.builders.engine_host import Host  # noqa: E402
from tests.unit.extender.handlers.handler_fakes import FakeClusterCache, full, named, reply_json  # noqa: E402

from stowplan.cache import Cluster  # noqa: E402
from stowplan.cli.main import cli  # noqa: E402
from stowplan.cli.plugins import load_plugins  # noqa: E402
from stowplan.errors import PluginError  # noqa: E402
from stowplan.extender.handlers import GroupMember, Handlers  # noqa: E402
from stowplan.gym import (  # noqa: E402
    NODE_FEATURES,
    ClusterFeatures,
    PlaceEnv,
    linear_policy,
    policy_agent,
    random_agent,
)
from stowplan.runtime import Factory  # noqa: E402
from stowplan.simulator.scenario import LoadedScenario, compile_scenario  # noqa: E402

EXAMPLE = Path(__file__).parents[3] / "examples" / "09-learning"
SCENARIO = EXAMPLE / "scenario.yaml"
SEEDS = range(6)
"""Of the comparison; training uses others."""
PLUGIN_FILE = """
import numpy as np

from stowplan.gym import linear_policy, policy_plugin

LearnedPolicy = policy_plugin(linear_policy(np.load({weights!r})))
"""
ONLY_POLICY = profile_config({"score": {"disabled": [{"name": "*"}], "enabled": [{"name": "LearnedPolicy"}]}})


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_environments_run_as_a_vector(mode: str) -> None:
    found = []
    for _ in range(2):
        envs = gymnasium.make_vec(
            "stowplan/Place-v0", num_envs=2, vectorization_mode=mode, scenario=str(SCENARIO), nodes=16, reward="-jct"
        )
        observation, info = envs.reset(seed=[1, 2])
        assert observation["nodes"].shape == (2, 16, len(NODE_FEATURES))
        assert (observation["action_mask"] == np.stack(info["action_mask"])).all()
        rewards = []
        for _ in range(40):
            observation, reward, ended, truncated, info = envs.step(observation["action_mask"].argmax(axis=1))
            rewards.append(reward.tolist())
            assert not (ended | truncated).any()
        envs.close()
        found.append(rewards)
    assert found[0] == found[1]
    alone = [one for one, _ in found[0]]
    env = PlaceEnv(SCENARIO, nodes=16, reward="-jct")
    observation, _ = env.reset(seed=1)
    for expected in alone:
        observation, earned, *_ = env.step(int(observation["action_mask"].argmax()))
        assert earned == pytest.approx(expected)
    assert alone != [other for _, other in found[0]]


def short_scenario() -> LoadedScenario:
    """The first hour of the example."""
    document = yaml.safe_load(SCENARIO.read_text())
    document["until"] = {"time": "1h"}
    return compile_scenario(document, "short", EXAMPLE)


@pytest.fixture(scope="module")
def weights() -> np.ndarray[Any, Any]:
    """One generation of the example's training."""
    trained: np.ndarray[Any, Any] = runpy.run_path(str(EXAMPLE / "train.py"))["train"](
        PlaceEnv(short_scenario(), nodes=12), float("inf"), seed=0, generations=1
    )
    return trained


def test_a_trained_policy_beats_random_nodes(weights: np.ndarray[Any, Any]) -> None:
    episode, env = runpy.run_path(str(EXAMPLE / "train.py"))["episode"], PlaceEnv(short_scenario(), nodes=12)
    trained, chosen = policy_agent(linear_policy(weights)), random_agent(0)
    waits = [(-episode(env, trained, seed), -episode(env, chosen, seed)) for seed in SEEDS]
    mean, of_random = np.mean(waits, axis=0)
    assert mean < 0.6 * of_random


@pytest.fixture
def plugin(weights: np.ndarray[Any, Any], tmp_path: Path) -> str:
    """The weights as a plugin's file, as for --plugin."""
    np.save(tmp_path / "weights.npy", weights)
    (tmp_path / "learned.py").write_text(PLUGIN_FILE.format(weights=str(tmp_path / "weights.npy")))
    return f"{tmp_path / 'learned.py'}:LearnedPolicy"


def factory(plugin: str) -> Factory:
    return load_plugins((plugin,))["LearnedPolicy"]


def test_the_exported_policy_runs_in_simulations(plugin: str, tmp_path: Path) -> None:
    config = tmp_path / "policy.yaml"
    config.write_text(json.dumps(ONLY_POLICY))
    pending = []
    for options in ([], ["--plugin", plugin, "--config", str(config)]):
        found = CliRunner().invoke(cli, ["scenario", "run", str(SCENARIO), "-o", "json", *options])
        assert found.exit_code in (0, 3), found.stderr
        summary = {each["metric"]: each["value"] for each in json.loads(found.stdout)["summary"] if not each["key"]}
        pending.append(summary["pending"])
    assert pending[1] < pending[0] / 2


CLUSTER = [
    node("a", cpu=8, memory="32Gi"),
    node("b", cpu=8, memory="32Gi"),
    node("c", cpu=16, memory="32Gi"),
    pod("x", "b", requests={"cpu": "5", "memory": "1Gi"}),
    pod("y", "c", requests={"cpu": "2", "memory": "16Gi"}),
]
ASKED = pod("web", requests={"cpu": "1", "memory": "1Gi"})


def preferences(cluster: Cluster, weights: np.ndarray[Any, Any]) -> dict[str, float]:
    """By node: what the policy prefers for the asked pod."""
    asked = cluster.pod(typed(ASKED))
    features = ClusterFeatures(cluster)
    found = linear_policy(weights)(features.of_nodes(asked), features.of_pod(asked))
    return {name: float(found[cluster.nodes.slot_of[name]]) for name in ("a", "b", "c")}


def test_the_exported_policy_runs_in_the_extender(plugin: str, weights: np.ndarray[Any, Any]) -> None:
    cache = FakeClusterCache(*CLUSTER)
    handlers = Handlers([GroupMember(factory(plugin))], cluster_cache=cache)
    reply = handlers.prioritize(named("a", "b", "c", of=ASKED))
    scores = {each["Host"]: each["Score"] for each in reply_json(reply)}
    wanted = preferences(cache.cluster, weights)
    low, high = min(wanted.values()), max(wanted.values())
    assert scores == {name: pytest.approx(10 * (value - low) / (high - low), abs=0.6) for name, value in wanted.items()}
    assert {*scores.values()} >= {0, 10}


def test_in_the_extender_the_policy_needs_the_cluster(plugin: str) -> None:
    with pytest.raises(PluginError, match=r'"LearnedPolicy" needs the nodes and pods of the cluster .*kubeconfig'):
        Handlers([GroupMember(factory(plugin))]).prioritize(full(*CLUSTER[:3], of=ASKED))


def test_the_exported_policy_runs_in_the_scheduling_engine(plugin: str, weights: np.ndarray[Any, Any]) -> None:
    host = Host(*CLUSTER, config=ONLY_POLICY, plugins={"LearnedPolicy": factory(plugin)})
    wanted = preferences(host.engine.cluster, weights)
    host.put(ASKED)
    host.schedule()
    assert host.node_of("web") == max(wanted, key=wanted.__getitem__)
