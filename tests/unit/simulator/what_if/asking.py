"""Small clusters, and answers about them."""

from __future__ import annotations

import json
from typing import Any

from tests.builders import Json

from stowplan.config import default_configuration
from stowplan.plugins.registry import REGISTRY
from stowplan.simulator.input import read_input
from stowplan.simulator.load import populate
from stowplan.simulator.report import RunRecorder
from stowplan.simulator.simulation import Simulation
from stowplan.simulator.what_if.answer import WhatIfQuestion, what_if
from stowplan.simulator.what_if.records import WhatIfAnswer
from stowplan.simulator.what_if.run import ClusterRun, Setup

ZONE = "topology.kubernetes.io/zone"
GPU = "nvidia.com/gpu"


def node(name: str, zone: str = "a", cpu: str = "8", gpu: int = 0, **labels: str) -> Json:
    allocatable = {"cpu": cpu, "memory": "32Gi", "pods": "110", **({GPU: str(gpu)} if gpu else {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, ZONE: zone, **labels}},
        "status": {"allocatable": allocatable},
    }


def pod_spec(cpu: str = "1", gpu: int = 0, **spec: Any) -> Json:
    amounts = {"cpu": cpu, "memory": "1Gi", **({GPU: str(gpu)} if gpu else {})}
    resources = {"requests": amounts, **({"limits": {GPU: str(gpu)}} if gpu else {})}
    return {"containers": [{"name": "app", "image": "app", "resources": resources}], **spec}


def workload(name: str, replicas: int, cpu: str = "1", kind: str = "Deployment", gpu: int = 0, **spec: Any) -> Json:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod_spec(cpu, gpu, **spec)}
    count = {} if kind == "DaemonSet" else {"replicas": replicas}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {**count, "selector": {"matchLabels": labels}, "template": template},
    }


def pod(name: str, cpu: str = "1", **spec: Any) -> Json:
    metadata = {"name": name, "namespace": "shop"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_spec(cpu, **spec)}


def budget(name: str, min_available: int) -> Json:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"minAvailable": min_available, "selector": {"matchLabels": {"app": name}}},
    }


def spread(name: str) -> Json:
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": name}},
    }
    return {"topologySpreadConstraints": [constraint]}


def as_list(*documents: Json) -> bytes:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}).encode()


def run_of(*documents: Json) -> ClusterRun:
    """A cluster with these objects that has come to rest."""
    given = read_input(["given"], lambda name: as_list(*documents))
    setup, recorder = Setup(default_configuration(), REGISTRY), RunRecorder()
    simulation = Simulation(*setup, observer=recorder)
    recorder.attach(simulation.api_server)
    populate(simulation.api_server, simulation.controllers, given.objects, given.preexisting, given.assumed_owners)
    simulation.run()
    return ClusterRun(simulation, recorder, setup)


def ask(documents: tuple[Json, ...], *changes: Any, **question: Any) -> WhatIfAnswer:
    return what_if(run_of(*documents), WhatIfQuestion(changes, "shop", **question))


def row(answer: WhatIfAnswer, name: str) -> Any:
    """The difference of one workload."""
    return next(each for each in answer.workloads if each.workload == name)
