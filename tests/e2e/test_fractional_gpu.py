"""FractionalGPU in its three modes: the same pods get the same nodes, GPUs and annotations.

All other score plugins are off, since scores behind a scheduler are 0 to 10 and those inside 0 to 100; the scores of
the best node and the next one are at least 8 apart. Pods come one by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from tests.builders import Json
from tests.deploy.rendered import DEPLOY
from tests.e2e.conftest import StartStowplan
from tests.examples.static_pods import ExampleExtender
from tests.parity.outcome import condition_of

from stowplan import api
from stowplan.api import codec
from stowplan.config import from_builtins
from stowplan.plugins.registry import REGISTRY
from stowplan.simulator.simulation import Simulation
from stowplan.testing import SCHEDULER, ControlPlane, KubeApi, node, pod, wait_until

pytestmark = pytest.mark.e2e

NAME = "FractionalGPU"
MILLI, MEMORY, COUNT = "alibabacloud.com/gpu-milli", "aliyun.com/gpu-mem", "aliyun.com/gpu-count"
ROLE = "rbac.authorization.k8s.io/v1/ClusterRole"
NO_SCORES = {"score": {"disabled": [{"name": "*"}]}}
GPUS = {"ant": 1, "bee": 2, "cow": 4}
SIZE = 10
"""Memory of a GPU."""


class Place(NamedTuple):
    """What became of a pod: its node and GPUs, or why it waits."""

    node: str
    annotations: dict[str, str]
    reason: str = ""


def placed(node: str, gpus: str) -> Place:
    return Place(node, {"alibabacloud.com/gpu-index": gpus, "alibabacloud.com/assume-time": "a time"})


def placed_by_memory(node: str, gpu: str, share: int) -> Place:
    notes = {"IDX": gpu, "POD": str(share), "DEV": str(SIZE), "ASSIGNED": "false", "ASSUME_TIME": "a time"}
    return Place(node, {f"ALIYUN_COM_GPU_MEM_{key}": value for key, value in notes.items()})


def waits(resource: str) -> Place:
    return Place(
        "", {}, f"0/3 nodes are available: 1 node(s) had no GPU with that much left, 2 Insufficient {resource}."
    )


class Case(NamedTuple):
    """A unit, the pods in their order with what they request, and where they go."""

    args: Json
    nodes: dict[str, Json]
    pods: list[tuple[Json, Place]]


BY_MILLI = Case(
    {"policy": "BestFit", "maxCpuMilli": 10**9, "maxGpuMilli": 4000},
    {name: {MILLI: count * 1000} for name, count in GPUS.items()},
    [
        ({MILLI: 600}, placed("ant", "0")),  # Least is left there: 0.4 of a GPU.
        ({MILLI: 600}, placed("bee", "0")),
        ({MILLI: 300}, placed("ant", "0")),
        ({MILLI: 2000}, placed("cow", "0-1")),  # bee has only one whole GPU.
        ({MILLI: 700}, placed("bee", "1")),
        ({MILLI: 400}, placed("bee", "0")),
        ({MILLI: 700}, placed("cow", "2")),
        ({MILLI: 600}, placed("cow", "3")),
        ({MILLI: 600}, waits(MILLI)),  # cow has 0.3 and 0.4 of a GPU.
    ],
)
BY_MEMORY = Case(
    {"unit": "Memory", "policy": "BestFit", "maxCpuMilli": 10**9, "maxGpuMilli": 4000},
    {name: {MEMORY: count * SIZE, COUNT: count} for name, count in GPUS.items()},
    [
        ({MEMORY: 6}, placed_by_memory("ant", "0", 6)),
        ({MEMORY: 6}, placed_by_memory("bee", "0", 6)),
        ({MEMORY: 3}, placed_by_memory("ant", "0", 3)),
        ({MEMORY: 7}, placed_by_memory("bee", "1", 7)),
        ({MEMORY: 4}, placed_by_memory("bee", "0", 4)),
        *(({MEMORY: 7}, placed_by_memory("cow", gpu, 7)) for gpu in "0123"),
        ({MEMORY: 6}, waits(MEMORY)),
    ],
)


def gpu_node(name: str, resources: Json) -> Json:
    made = node(name, cpu="64")
    made["status"]["capacity"] = made["status"]["allocatable"] = {
        **made["status"]["allocatable"],
        **{key: str(amount) for key, amount in resources.items()},
    }
    return made


def gpu_pod(name: str, namespace: str, resources: Json) -> Json:
    made = pod(name, namespace)
    amounts = {key: str(amount) for key, amount in resources.items()}
    resources = made["spec"]["containers"][0]["resources"]
    resources["requests"] |= amounts
    resources["limits"] = amounts
    return made


def place_of(item: Json) -> Place:
    notes = {
        key: "a time" if key.lower().replace("_", "-").endswith("assume-time") else value
        for key, value in item["metadata"].get("annotations", {}).items()
    }
    node_name = item["spec"].get("nodeName", "")
    condition = condition_of(item) or {}
    reason = re.match(r"0/3 .*?\.(?= |$)", str(condition.get("message") or ""))
    return Place(node_name, notes, "" if node_name or reason is None else reason[0])


def scheduler_config(case: Case) -> Json:
    plugins = {
        "multiPoint": {"enabled": [{"name": NAME}]},
        "score": {"disabled": [{"name": "*"}], "enabled": [{"name": NAME}]},
    }
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return {**head, "profiles": [{"plugins": plugins, "pluginConfig": [{"name": NAME, "args": case.args}]}]}


def simulated(case: Case) -> list[Place]:
    simulation = Simulation(from_builtins(scheduler_config(case)), REGISTRY)
    for name, resources in case.nodes.items():
        simulation.api_server.put(codec.convert(api.Node, gpu_node(name, resources)))
    simulation.settle()
    for number, (resources, _) in enumerate(case.pods):
        simulation.controllers.create_pod(codec.convert(api.Pod, gpu_pod(f"p{number}", "default", resources)))
        simulation.run()
    found = (simulation.api_server.get(api.Pod, f"p{number}", "default") for number in range(len(case.pods)))
    return [place_of(codec.builtins(item)) for item in found if item is not None]


class Trial:
    """The nodes on an API server, and the pods one by one."""

    def __init__(self, kube_api: KubeApi, namespace: str, case: Case) -> None:
        self._api, self._namespace, self._case = kube_api, namespace, case
        kube_api.create_all(gpu_node(name, resources) for name, resources in case.nodes.items())

    def run(self) -> list[Place]:
        found = []
        for number, (resources, _) in enumerate(self._case.pods):
            name = f"p{number}"
            self._api.create(gpu_pod(name, self._namespace, resources))
            place = wait_until(partial(self._decided, name), what=f"a decision about {name}")
            assert place is not None
            found.append(place)
        for number in range(len(found)):
            self._api.delete("Pod", f"p{number}", self._namespace, gracePeriodSeconds=0)
        return found

    def _decided(self, name: str) -> Place | None:
        place = place_of(self._api.get("Pod", name, self._namespace))
        return place if place.node or place.reason else None


@pytest.fixture
def permitted(kube_api: KubeApi) -> Iterator[None]:
    """The scheduler's user has the permissions of optional plugins."""
    role, binding = yaml.safe_load_all((DEPLOY / "rbac-optional-plugins.yaml").read_text())
    binding["subjects"] = [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": SCHEDULER.name}]
    kube_api.create_all([role, binding])
    yield
    kube_api.delete(ROLE, role["metadata"]["name"])
    kube_api.delete(f"{ROLE}Binding", binding["metadata"]["name"])


@pytest.fixture
def start_extender(control_plane: ControlPlane, tmp_path: Path, _own: Any) -> Callable[[Case], ExampleExtender]:
    """A function that starts `stowplan extender` with the plugin and its args; it binds."""

    def start(case: Case) -> ExampleExtender:
        file = tmp_path / "extender.yaml"
        head = {"apiVersion": "stowplan/v1alpha1", "kind": "ExtenderServerConfiguration"}
        file.write_text(yaml.safe_dump({**head, "plugins": [{"plugin": NAME, "args": case.args}]}))
        access = f"--kubeconfig={control_plane.kubeconfig()}"
        extender = ExampleExtender(tmp_path, f"--config={file}", access)
        _own.start(extender)
        extender.wait_ready()
        return extender

    return start


@pytest.mark.parametrize("case", [BY_MILLI, BY_MEMORY], ids=["milli", "memory"])
@pytest.mark.usefixtures("permitted")
def test_nodes_and_annotations_are_the_same_in_all_modes(
    case: Case,
    kube_api: KubeApi,
    namespace: str,
    start_stowplan: StartStowplan,
    start_kube_scheduler: Callable[..., Any],
    start_extender: Callable[[Case], ExampleExtender],
) -> None:
    expected = [place for _, place in case.pods]
    assert simulated(case) == expected
    trial = Trial(kube_api, namespace, case)
    scheduler = start_stowplan(config=scheduler_config(case))
    assert trial.run() == expected
    scheduler.stop()
    extender = start_extender(case)
    verbs = {f"{verb}Verb": verb for verb in ("filter", "prioritize", "bind")}
    entry = {"urlPrefix": extender.url, **verbs, "weight": 10, "nodeCacheCapable": True}
    start_kube_scheduler(config={"profiles": [{"plugins": NO_SCORES}], "extenders": [entry]})
    assert trial.run() == expected
