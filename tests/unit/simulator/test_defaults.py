from typing import Any

from stowplan import api
from stowplan.api import codec, quantity
from stowplan.simulator.defaults import with_defaults

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
PATIENT: list[dict[str, Any]] = [{"key": "", "operator": "Exists"}]


def defaults(**spec: Any) -> api.PodSpec:
    return with_defaults(codec.convert(api.PodSpec, spec))


def test_requests_follow_limits() -> None:
    limits = {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}}
    spec = defaults(containers=[{"resources": limits}], initContainers=[{"resources": {"limits": {"cpu": "3"}}}])
    assert spec.containers[0].resources.requests == {"cpu": "1", "memory": "1Gi"}
    assert spec.init_containers[0].resources.requests == {"cpu": "3"}


def test_ports_on_the_host_network_are_host_ports() -> None:
    ports = [{"containerPort": 80}, {"containerPort": 81, "hostPort": 8081}]
    on_host = defaults(hostNetwork=True, containers=[{"ports": ports}])
    assert [port.host_port for port in on_host.containers[0].ports] == [80, 8081]
    apart = defaults(containers=[{"ports": ports}])
    assert [port.host_port for port in apart.containers[0].ports] == [0, 8081]


def test_pods_stay_on_nodes_that_are_unwell_for_a_while() -> None:
    spec = defaults()
    assert [each.key for each in spec.tolerations] == [NOT_READY, UNREACHABLE]
    assert {(each.operator, each.effect, each.toleration_seconds) for each in spec.tolerations} == {
        ("Exists", "NoExecute", 300)
    }


def test_tolerations_that_cover_it_are_left_alone() -> None:
    assert defaults(tolerations=PATIENT).tolerations == (api.Toleration(operator="Exists"),)
    partly = defaults(tolerations=[{"key": NOT_READY, "operator": "Exists", "effect": "NoExecute"}])
    assert [each.key for each in partly.tolerations] == [NOT_READY, UNREACHABLE]
    elsewhere = defaults(tolerations=[{"operator": "Exists", "effect": "NoSchedule"}])
    assert len(elsewhere.tolerations) == 3


def test_a_spec_that_lacks_nothing_stays_the_same_object() -> None:
    spec = codec.convert(api.PodSpec, {"containers": [{"name": "c"}], "tolerations": PATIENT})
    assert with_defaults(spec) is spec


def test_requests_of_the_whole_pod_are_the_sum_or_else_the_limits() -> None:
    spec = defaults(
        containers=[{"resources": {"requests": {"cpu": "250m"}}}, {"resources": {"requests": {"cpu": "500m"}}}],
        overhead={"cpu": "1"},
        resources={"limits": {"cpu": "2", "memory": "1Gi", "hugepages-2Mi": "4Mi", "example.com/x": "1"}},
    )
    assert spec.resources is not None
    requests = spec.resources.requests
    assert quantity.milli_value(requests["cpu"]) == 750
    assert requests["memory"] == "1Gi"
    assert requests["hugepages-2Mi"] == "4Mi"
    assert "example.com/x" not in requests


def test_given_requests_of_the_whole_pod_win() -> None:
    spec = defaults(resources={"limits": {"cpu": "2"}, "requests": {"cpu": "1"}})
    assert spec.resources is not None
    assert spec.resources.requests == {"cpu": "1"}
