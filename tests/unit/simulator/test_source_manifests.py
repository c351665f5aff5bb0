"""Plugins that want whole objects get all that stands in a manifest, and what became of it since."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.builders import Json

from stowplan import CycleState, NodeInfo, Plugin, Pod, api
from stowplan.api import codec
from stowplan.config import default_configuration
from stowplan.plugins.registry import REGISTRY
from stowplan.runtime import enable_everywhere
from stowplan.simulator.api_server import ApiServer
from stowplan.simulator.input import InputOptions, read_input
from stowplan.simulator.load import populate
from stowplan.simulator.simulation import Simulation
from stowplan.simulator.source_manifests import SourceManifests

SPEC: Json = {
    "hostname": "somewhere",
    "containers": [
        {"name": "c", "image": "app:1", "env": [{"name": "A", "value": "b"}], "resources": {"limits": {"cpu": "1"}}}
    ],
    "volumes": [{"name": "config", "configMap": {"name": "settings"}}],
}
NODE: Json = {
    "kind": "Node",
    "metadata": {"name": "n", "annotations": {"note": "x"}},
    "spec": {"providerID": "cloud://1"},
    "status": {"allocatable": {"cpu": "4", "pods": "9"}, "nodeInfo": {"kernelVersion": "6.1"}},
}


def template(kind: str, name: str, **spec: Any) -> Json:
    labels = {"app": name}
    pods = {"metadata": {"labels": labels, "annotations": {"from": name}}, "spec": SPEC}
    return {
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": labels}, "template": pods, **spec},
    }


class Curious(Plugin):
    """Looks at everything that it is shown."""

    name = "Curious"
    needs_objects = True
    seen: list[tuple[Json, Json]]

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> None:
        self.seen.append((pod.object, node.object))


@pytest.fixture
def shown() -> Callable[..., list[tuple[Json, Json]]]:
    def run(*documents: Json) -> list[tuple[Json, Json]]:
        Curious.seen = []
        text = json.dumps({"kind": "List", "items": [NODE, *documents]}).encode()
        given = read_input(["-"], lambda _: text, options=InputOptions(keep_documents=True))
        config = enable_everywhere(default_configuration(), {"Curious": Curious})
        simulation = Simulation(config, {**REGISTRY, "Curious": Curious}, keep_objects=True)
        simulation.whole = SourceManifests(simulation.api_server, given.documents).whole
        populate(simulation.api_server, simulation.controllers, given.objects, given.preexisting, given.assumed_owners)
        simulation.run()
        return Curious.seen

    return run


def test_a_pod_and_a_node_of_the_input(shown: Callable[..., list[tuple[Json, Json]]]) -> None:
    ((pod, node),) = shown({"kind": "Pod", "metadata": {"name": "p", "annotations": {"a": "b"}}, "spec": SPEC})
    assert (node["apiVersion"], node["kind"], node["spec"]["providerID"]) == ("v1", "Node", "cloud://1")
    assert node["status"]["nodeInfo"] == {"kernelVersion": "6.1"}
    assert (pod["kind"], pod["spec"]["hostname"]) == ("Pod", "somewhere")
    assert pod["spec"]["containers"] == SPEC["containers"]
    assert pod["metadata"]["annotations"] == {"a": "b"}
    # What the API server fills in is there as well.
    assert pod["metadata"]["namespace"] == "default"
    assert pod["metadata"]["uid"]
    assert pod["spec"]["priority"] == 0


@pytest.mark.parametrize(
    "workload",
    [
        template("Deployment", "web"),
        template("Job", "work"),
        {
            "kind": "CronJob",
            "metadata": {"name": "cron"},
            "spec": {"jobTemplate": {"spec": template("Job", "x")["spec"]}},
        },
    ],
)
def test_a_pod_that_was_made_from_a_template(workload: Json, shown: Callable[..., list[tuple[Json, Json]]]) -> None:
    ((pod, _),) = shown(workload)
    assert pod["kind"] == "Pod"
    assert pod["metadata"]["name"].startswith(workload["metadata"]["name"])
    assert pod["metadata"]["ownerReferences"][0]["controller"] is True
    assert pod["spec"]["hostname"] == "somewhere"
    assert pod["spec"]["containers"] == SPEC["containers"]


def test_what_a_controller_adds_is_not_lost(shown: Callable[..., list[tuple[Json, Json]]]) -> None:
    claims = [{"metadata": {"name": "data"}, "spec": {"storageClassName": "none"}}]
    classes = {
        "kind": "StorageClass",
        "metadata": {"name": "none"},
        "provisioner": "p",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    (pod, _), *_ = shown(classes, template("StatefulSet", "db", volumeClaimTemplates=claims, replicas=1))
    data, config = pod["spec"]["volumes"]
    assert data == {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}}
    assert config == SPEC["volumes"][0]


def test_a_pod_whose_workload_is_unknown_is_told_by_its_fields(shown: Callable[..., list[tuple[Json, Json]]]) -> None:
    owner = {"kind": "RayCluster", "name": "ray", "uid": "u", "controller": True}
    ((pod, _),) = shown({"kind": "Pod", "metadata": {"name": "p", "ownerReferences": [owner]}, "spec": SPEC})
    assert pod["metadata"]["ownerReferences"][0]["name"] == "ray"


def test_objects_of_a_cluster_are_known_too() -> None:
    stored = {"metadata": {"name": "p", "uid": "u", "namespace": "x"}, "spec": {**SPEC, "nodeName": "n"}}
    item = codec.convert(api.Pod, stored)
    whole = SourceManifests(ApiServer(lambda: 0.0), {(api.Pod, "x/p"): stored}).whole(item)
    assert whole is not None
    assert whole["spec"]["hostname"] == SPEC["hostname"]
