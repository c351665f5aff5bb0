from __future__ import annotations

from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.builders import node, pod
from tests.unit.observe.metered_engine import MeteredEngine

from stowplan.observe.resource_metrics import expose


def told(**spec: Any) -> dict[tuple[str, str, str], float]:
    """By (request or limit, resource, unit)."""
    stage = MeteredEngine(node("n1"), pod("p", "n1", **spec))
    text = expose(stage.host.engine.cluster.pods.values()).decode()
    return {
        (family.name.rpartition("_")[2], sample.labels["resource"], sample.labels["unit"]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def container(**resources: Any) -> dict[str, Any]:
    return {"name": "c", "image": "i", "resources": resources}


def test_the_text() -> None:
    stage = MeteredEngine(node("n1"), pod("p", "n1", requests={"cpu": "250m"}, priority=5))
    assert expose(stage.host.engine.cluster.pods.values()).decode() == (
        "# HELP kube_pod_resource_request [STABLE] Resources requested by workloads on the cluster, broken down by "
        "pod. This shows the resource usage the scheduler and kubelet expect per pod for resources along with the unit "
        "for the resource if any.\n"
        "# TYPE kube_pod_resource_request gauge\n"
        'kube_pod_resource_request{namespace="default",node="n1",pod="p",priority="5",resource="cpu",'
        'scheduler="default-scheduler",unit="cores"} 0.25\n'
    )


def test_nothing_is_told_of_no_pods() -> None:
    assert expose([]) == b""


@pytest.mark.parametrize(
    ("resource", "unit"),
    [
        ("cpu", "cores"),
        ("memory", "bytes"),
        ("ephemeral-storage", "bytes"),
        ("hugepages-2Mi", "bytes"),
        ("attachable-volumes-csi-x", "integer"),
        ("example.com/gpu", ""),
    ],
)
def test_units(resource: str, unit: str) -> None:
    assert told(containers=[container(requests={resource: "2"})]) == {("request", resource, unit): 2.0}


def test_sums_of_containers_and_the_peak_of_init_containers() -> None:
    assert told(
        containers=[container(requests={"cpu": "1"}, limits={"cpu": "2"}), container(requests={"cpu": "500m"})],
        initContainers=[container(requests={"cpu": "4"}, limits={"cpu": "5"})],
    ) == {("request", "cpu", "cores"): 4.0, ("limit", "cpu", "cores"): 5.0}


def test_overhead_adds_to_requests_and_to_what_is_limited() -> None:
    assert told(
        containers=[container(requests={"cpu": "1"}, limits={"cpu": "2"})], overhead={"cpu": "1", "memory": "1Ki"}
    ) == {("request", "cpu", "cores"): 2.0, ("request", "memory", "bytes"): 1024.0, ("limit", "cpu", "cores"): 3.0}


def test_what_pods_are_called_cannot_break_the_text() -> None:
    stage = MeteredEngine(pod("p", "n1", requests={"cpu": 1}, schedulerName='x"} 1\n'))
    text = expose(stage.host.engine.cluster.pods.values()).decode()
    (family,) = text_string_to_metric_families(text)
    assert family.samples[0].labels["scheduler"] == 'x"} 1\n'
