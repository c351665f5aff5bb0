"""The configuration and the plugins of environments, the nodes to choose from, and the time that pods waited."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from numpy.typing import NDArray

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402

from stowplan.config import default_configuration  # noqa: E402
from stowplan.errors import PluginBugError, PluginError, StowplanError  # noqa: E402
from stowplan.framework import CycleState, NodeInfo, Nodes, Plugin, Pod, Status, reject  # noqa: E402
from stowplan.gym import PlaceEnv, WeightsEnv, policy_plugin  # noqa: E402
from stowplan.gym.features import POD_FEATURES, ClusterFeatures, Features  # noqa: E402
from stowplan.gym.scenario_plugins import SchedulerSetup  # noqa: E402
from stowplan.simulator.scenario import LoadedScenario, ScenarioSimulation, compile_scenario  # noqa: E402
from stowplan.simulator.simulation import Simulation  # noqa: E402

WAITED = POD_FEATURES.index("waited")
PLUGIN_FILE = """
from stowplan import Plugin, reject

class Even(Plugin):
    scope = "node"

    def filter(self, state, pod, node):
        return None if int(node.name.rsplit("-", 1)[-1]) % 2 == 0 else reject("odd")

    def score(self, state, pod, node):
        return 100 if node.name.endswith("4") else 0
"""
CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {"schedulerName": "default-scheduler", "plugins": {"score": {"disabled": [{"name": "ImageLocality"}]}}},
        {"schedulerName": "other"},
    ],
}


def pods(name: str, cpu: str, arrivals: dict[str, Any], duration: str = "30m", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "app", "resources": {"requests": {"cpu": cpu}}}
    template = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [container], **spec}}
    return {"name": name, "template": template, "arrivals": arrivals, "duration": duration}


def document(*workloads: dict[str, Any], **fields: Any) -> dict[str, Any]:
    allocatable = {"cpu": "4", "memory": "32Gi", "pods": "110"}
    return {
        "apiVersion": "simulation.stowplan/v1alpha1",
        "kind": "Scenario",
        "until": {"time": "2h"},
        "nodes": {"pools": [{"name": "n", "count": 6, "template": {"status": {"allocatable": allocatable}}}]},
        "workloads": workloads or [pods("small", "1", {"every": "5m"})],
        **fields,
    }


def scenario(*workloads: dict[str, Any], **fields: Any) -> LoadedScenario:
    return compile_scenario(document(*workloads, **fields), "test", Path())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a scenario that names a configuration and a plugin beside it."""
    (tmp_path / "even.py").write_text(PLUGIN_FILE)
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(CONFIG))
    named = document(config="config.yaml", plugins=["./even.py:Even"])
    (tmp_path / "scenario.yaml").write_text(yaml.safe_dump(named))
    return tmp_path


def names(env: PlaceEnv) -> list[str]:
    """The nodes that the agent may choose."""
    return [info.name for info in env.simulation.engine.cluster.nodes if env.action_masks()[info.slot]]


def test_the_plugins_and_the_configuration_of_the_scenario_are_used(folder: Path) -> None:
    env = PlaceEnv(folder / "scenario.yaml", nodes=6)
    env.reset(seed=1)
    assert names(env) == ["n-2", "n-4", "n-6"]
    chosen = env.simulation.engine.cluster.nodes.infos[env.profile_action()]
    assert chosen is not None
    assert chosen.name == "n-4"
    assert list(env.simulation.engine.profiles) == ["default-scheduler", "other"]
    weights = WeightsEnv(folder / "scenario.yaml")
    assert "Even" in weights.plugins
    assert "ImageLocality" not in weights.plugins
    _, info = weights.reset(seed=1)
    assert tuple(info["weights"]) == weights.plugins


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["Place", "Weights"])
def test_gymnasium_accepts_an_environment_with_plugins(folder: Path, name: str) -> None:
    options = {"nodes": 8, "on_invalid": "defer"} if name == "Place" else {}
    env = gymnasium.make(f"stowplan/{name}-v0", scenario=str(folder / "scenario.yaml"), **options)
    check_env(env.unwrapped, skip_render_check=True)


def test_the_caller_chooses_configuration_and_plugins(folder: Path) -> None:
    class FirstOnly(Plugin):
        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
            return None if node.name in ("n-1", "n-2", "n-3") else reject("late")

    source = folder / "scenario.yaml"
    env = PlaceEnv(source, nodes=6, config=default_configuration(), plugins=[FirstOnly], ask_single=True)
    env.reset(seed=1)
    assert names(env) == ["n-2"]
    assert list(env.simulation.engine.profiles) == ["default-scheduler"]
    for given in ([str(folder / "even.py")], {"Second": FirstOnly}, ["FractionalGPU"]):
        PlaceEnv(scenario(), nodes=6, plugins=given).reset(seed=1)
    assert "ImageLocality" not in WeightsEnv(scenario(), config=folder / "config.yaml").plugins


def info_of(env: PlaceEnv) -> str:
    return "" if env._pod is None else env._pod.key


def test_a_profile_that_always_chooses_itself_gives_the_run_of_the_scenario(folder: Path) -> None:
    """The agent that follows the profile places pods where the scheduler would, with plugins and two profiles."""
    loaded = compile_scenario(
        document(
            pods("small", "1", {"every": "4m"}),
            pods("others", "1", {"every": "7m"}, schedulerName="other"),
            config="config.yaml",
            plugins=["even.py"],
        ),
        str(folder / "scenario.yaml"),
        folder,
    )
    env = PlaceEnv(loaded, nodes=6, ask_single=True)
    env.reset(seed=3)
    ended, steps = False, 0
    while not ended:
        _, _, ended, _, _ = env.step(env.profile_action())
        steps += 1
    plain = ScenarioSimulation(loaded, 3, *env._scheduler)
    plain.run_until(7200)
    assert placements(env.simulation) == placements(plain.simulation)
    assert steps > len(placements(env.simulation)) > 5


def placements(simulation: Simulation) -> dict[str, str]:
    return {pod.key: info.name for info in simulation.engine.cluster.nodes for pod in info.pods.values()}


def test_the_agent_chooses_among_the_nodes_that_pre_filter_names() -> None:
    """Also for pods of which no answers are kept, and while a pod is nominated to a node."""

    class Named(Plugin):
        def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Iterable[str] | None:
            return ["n-3", "n-5"] if pod.name.startswith("tied") else None

    env = PlaceEnv(scenario(pods("tied", "1", {"every": "5m"})), nodes=6, plugins=[Named])
    env.reset(seed=1)
    assert names(env) == ["n-3", "n-5"]
    profile = env.simulation.engine.profiles["default-scheduler"]
    assert env._pod is not None
    profile.nominator.by_node["n-1"] = {}
    assert env._asks(env._pod)
    assert names(env) == ["n-3", "n-5"]


def test_a_plugin_that_reads_one_pod_only_gets_answers_of_that_pod() -> None:
    class ByName(Plugin):
        scope = "node"

        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
            return None if (int(node.name[-1]) + int(pod.name[-1])) % 2 else reject("parity")

    env = PlaceEnv(scenario(pods("p", "100m", {"every": "1m"})), nodes=6, plugins=[ByName])
    env.reset(seed=1)
    for _ in range(6):
        parity = int(info_of(env)[-1]) % 2
        assert names(env) == [f"n-{number}" for number in range(1, 7) if number % 2 != parity]
        env.step(env.profile_action())


def test_pods_that_wait_show_for_how_long() -> None:
    """A pod is created at 1,000 s; the node has room for it at 2,800 s, which is 1,800 s later."""
    full = [pods(f"full{number}", "4", {"at": [0]}, "2800s") for number in range(6)]
    env = PlaceEnv(scenario(*full, pods("late", "2", {"at": [1000]})), nodes=6)
    observation, info = env.reset(seed=1)
    assert observation["pod"][WAITED] == 0
    while "late" not in info["pod"]:
        observation, _, ended, _, info = env.step(env.profile_action())
        assert not ended
    assert info["time"] >= 2800
    assert observation["pod"][WAITED] == pytest.approx((info["time"] - 1000) / 3600, abs=1e-6)


def test_the_plugin_of_a_policy_reads_the_features_of_the_environment() -> None:
    """The time waited included."""
    seen: list[float] = []

    def policy(nodes: Features, pod: Features) -> NDArray[Any]:
        seen.append(float(pod[WAITED]))
        return np.zeros(len(nodes))

    full = [pods(f"full{number}", "4", {"at": [0]}, "2800s") for number in range(6)]
    loaded = scenario(*full, pods("late", "2", {"at": [1000]}))
    setup = SchedulerSetup.of(loaded, None, [policy_plugin(policy)])
    ScenarioSimulation(loaded, 1, *setup).run_until(7200)
    assert max(seen) == pytest.approx(0.5, abs=0.01)


def test_the_time_waited_is_at_most_an_hour_in_the_features() -> None:
    env = PlaceEnv(scenario(), nodes=6)
    env.reset(seed=1)
    features = ClusterFeatures(env.simulation.engine.cluster)
    assert env._pod is not None
    assert [features.of_pod(env._pod, seconds)[WAITED] for seconds in (0.0, 1800.0, 9000.0)] == [0, 0.5, 1]


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("./none.py:Even", PluginError, "No such file"),
        ("./even.py:Odd", PluginError, 'has no "Odd"'),
        ("no.such.module:Even", PluginError, "No module named 'no'"),
        ("Even", PluginError, "expected file.py"),
        ("./broken.py", PluginBugError, "ZeroDivisionError"),
        ("./empty.py", PluginError, "defines 0 plugins: append :Class"),
        ("pathlib:Path", PluginError, "neither a class derived from stowplan.Plugin"),
        ("./taken.py", PluginError, 'a plugin named "NodeName" already exists'),
    ],
)
def test_plugins_that_cannot_be_used(folder: Path, text: str, kind: type[StowplanError], expected: str) -> None:
    (folder / "broken.py").write_text("1 / 0\n")
    (folder / "empty.py").write_text("")
    (folder / "taken.py").write_text(PLUGIN_FILE.replace("Even", "NodeName"))
    source = folder / "scenario.yaml"
    source.write_text(yaml.safe_dump(document(plugins=[text])))
    with pytest.raises(kind) as raised:
        PlaceEnv(source)
    assert str(raised.value).startswith(f"{source}: $.plugins: {text}: ")
    assert expected in str(raised.value)
    assert "\n" not in str(raised.value)
