"""Optional plugins on a real API server: their custom resources are watched, and absent ones hold nothing up."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from tests.deploy.rendered import DEPLOY
from tests.e2e.conftest import StartStowplan
from tests.e2e.devices import CLAIMS_ARE_SERVED
from tests.parity.outcome import condition_of

from stowplan.api.kinds import KINDS
from stowplan.testing import SCHEDULER, KubeApi, RefusedError, node, pod, wait_until
from stowplan.testing.objects import JsonObject

pytestmark = pytest.mark.e2e

CUSTOM = (KINDS["ElasticQuota"], KINDS["NodeResourceTopology"], KINDS["CoschedulingPodGroup"])
QUOTA, TOPOLOGY, GROUP = (f"{kind.api_version}/{kind.wire_name or kind.name}" for kind in CUSTOM)
DEFINITION = "apiextensions.k8s.io/v1/CustomResourceDefinition"
ROLE = "rbac.authorization.k8s.io/v1/ClusterRole"
CONFIG: dict[str, Any] = {
    "profiles": [
        {
            "schedulerName": "default-scheduler",
            "plugins": {
                "multiPoint": {"enabled": [{"name": "Coscheduling"}, {"name": "NodeResourceTopologyMatch"}]},
                "queueSort": {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "*"}]},
                "preFilter": {"enabled": [{"name": "CapacityScheduling"}]},
                "postFilter": {"enabled": [{"name": "CapacityScheduling"}], "disabled": [{"name": "*"}]},
                "reserve": {"enabled": [{"name": "CapacityScheduling"}]},
                "score": {"enabled": [{"name": "TargetLoadPacking"}]},
            },
        }
    ]
}


def definition(group: str, version: str, kind: str, resource: str, scope: str) -> JsonObject:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    names = {"kind": kind, "listKind": f"{kind}List", "plural": resource, "singular": kind.lower()}
    served = {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{resource}.{group}",
            "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
        },
        "spec": {"group": group, "names": names, "scope": scope, "versions": [served]},
    }


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
def defined(kube_api: KubeApi) -> Iterator[None]:
    """The API server serves the custom resources."""
    made = []
    for kind in CUSTOM:
        group, _, version = kind.api_version.rpartition("/")
        scope = "Namespaced" if kind.namespaced else "Cluster"
        made.append(definition(group, version, kind.wire_name or kind.name, kind.resource, scope))
    kube_api.create_all(made)
    wait_until(lambda: all(_is_served(kube_api, kind) for kind in (QUOTA, TOPOLOGY, GROUP)), what="all kinds")
    yield
    names = {each["metadata"]["name"] for each in made}
    for name in names:
        kube_api.delete(DEFINITION, name)
    wait_until(
        lambda: not names & {each["metadata"]["name"] for each in kube_api.list(DEFINITION)}, what="the end of all"
    )


def _is_served(api: KubeApi, kind: str) -> bool:
    try:
        api.list(kind)
    except RefusedError:
        return False
    return True


def guaranteed(name: str, namespace: str, cpu: str) -> JsonObject:
    made = pod(name, namespace)
    amounts = {"cpu": cpu, "memory": "64Mi"}
    made["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
    return made


def outcome(api: KubeApi, name: str, namespace: str) -> str:
    """The node of a pod, or why it has none; empty before the first attempt."""
    found = api.get("Pod", name, namespace)
    condition = condition_of(found)
    return str(found["spec"].get("nodeName") or (condition["message"] if condition else ""))


def wait_for(api: KubeApi, name: str, namespace: str, text: str) -> None:
    wait_until(lambda: text in outcome(api, name, namespace), what=f"{name}: {text}")


@pytest.mark.usefixtures("permitted", "defined")
def test_quotas_zones_and_groups_are_watched(kube_api: KubeApi, namespace: str, start_stowplan: StartStowplan) -> None:
    quota = {"metadata": {"name": "q", "namespace": namespace}, "spec": {"min": {"cpu": "2", "memory": "1Gi"}}}
    zones = [
        {"name": "node-0", "type": "Node", "resources": [{"name": "cpu", "available": "1"}, _resource("memory", "1Gi")]}
    ]
    policy = [{"name": "topologyManagerPolicy", "value": "single-numa-node"}]
    topology = {"metadata": {"name": "a"}, "zones": zones, "attributes": policy}
    for item, kind in ((quota, CUSTOM[0]), (topology, CUSTOM[1])):
        item |= {"apiVersion": kind.api_version, "kind": kind.name}
    kube_api.create_all([node("a"), quota, topology])
    start_stowplan(config=CONFIG)
    kube_api.create(guaranteed("aligned", namespace, "1"))
    wait_for(kube_api, "aligned", namespace, "a")
    kube_api.create(guaranteed("too-much", namespace, "1500m"))
    wait_for(kube_api, "too-much", namespace, "total ElasticQuota used is more than min")
    kube_api.patch(QUOTA, "q", {"spec": {"min": {"cpu": "8"}}}, namespace)
    wait_for(kube_api, "too-much", namespace, "cannot align container")
    zones[0]["resources"] = [_resource("cpu", "4"), _resource("memory", "1Gi")]
    kube_api.patch(TOPOLOGY, "a", {"zones": zones})
    wait_until(lambda: outcome(kube_api, "too-much", namespace) == "a", what="a node for too-much")
    _check_group(kube_api, namespace)


def _resource(name: str, available: str) -> JsonObject:
    return {"name": name, "available": available}


def _check_group(api: KubeApi, namespace: str) -> None:
    group = {"apiVersion": CUSTOM[2].api_version, "kind": CUSTOM[2].wire_name, "spec": {"minMember": 3}}
    api.create({**group, "metadata": {"name": "g", "namespace": namespace}})
    members = [guaranteed(f"m{number}", namespace, "100m") for number in range(3)]
    for member in members:
        member["metadata"]["labels"] = {"scheduling.x-k8s.io/pod-group": "g"}
    for member in members[:2]:  # In this order: the number in the message is that at the attempt.
        api.create(member)
    wait_for(api, "m1", namespace, "cannot find enough sibling pods, current pods number: 2, minMember of group: 3")
    api.create(members[2])
    wait_until(lambda: all(outcome(api, f"m{number}", namespace) == "a" for number in range(3)), what="the group")


@pytest.mark.usefixtures("permitted", "defined")
def test_groups_of_coscheduling_are_scheduled_whole(
    kube_api: KubeApi, namespace: str, start_stowplan: StartStowplan
) -> None:
    """With --coscheduling and no plugin: members wait for the group and for each other, and hold no room meanwhile."""
    start_stowplan("--coscheduling")
    kube_api.create(node("a", cpu="2"))
    members = [guaranteed(f"m{number}", namespace, "1") for number in range(3)]
    for member in members:
        member["metadata"]["labels"] = {"scheduling.x-k8s.io/pod-group": "g"}
    kube_api.create_all(members[:2])
    metadata = {"name": "g", "namespace": namespace}
    group = {"apiVersion": CUSTOM[2].api_version, "kind": CUSTOM[2].wire_name, "metadata": metadata}
    kube_api.create({**group, "spec": {"minMember": 3}})
    kube_api.create(members[2])
    wait_for(kube_api, "m0", namespace, "pod group is unschedulable, waiting for minCount pods from a gang")
    wait_for(kube_api, "m2", namespace, "1 Insufficient cpu")
    kube_api.create(guaranteed("plain", namespace, "1500m"))
    wait_for(kube_api, "plain", namespace, "a")
    kube_api.create(node("b", cpu="4"))
    wait_until(lambda: all(outcome(kube_api, f"m{number}", namespace) == "b" for number in range(3)), what="the group")
    _check_changes(kube_api, namespace, group)


def _check_changes(api: KubeApi, namespace: str, group: JsonObject) -> None:
    """A PodGroup that asks for more members than there are, vanishes, comes back, and asks for fewer."""
    late = [guaranteed(f"late{number}", namespace, "500m") for number in range(2)]
    for member in late:
        member["metadata"]["labels"] = {"scheduling.x-k8s.io/pod-group": "late"}
    changing = {**group, "metadata": {"name": "late", "namespace": namespace}, "spec": {"minMember": 3}}
    api.create(changing)
    api.create_all(late)
    api.create(guaranteed("beside", namespace, "100m"))
    wait_until(lambda: outcome(api, "beside", namespace) in ("a", "b"), what="the pod without a group")
    api.delete(GROUP, "late", namespace)
    api.create(changing)
    assert [outcome(api, f"late{number}", namespace) for number in range(2)] == ["", ""]
    api.patch(GROUP, "late", {"spec": {"minMember": 2}}, namespace)
    wait_until(
        lambda: all(outcome(api, f"late{number}", namespace) in ("a", "b") for number in range(2)), what="the gang"
    )


@pytest.mark.usefixtures("permitted", "defined")
def test_objects_that_cannot_be_read_are_one_line_each(
    kube_api: KubeApi, namespace: str, start_stowplan: StartStowplan
) -> None:
    """The schema of a custom resource may allow anything. An object is used as soon as it can be read."""
    metadata = {"name": "bad", "namespace": namespace}
    group = {"apiVersion": CUSTOM[2].api_version, "kind": CUSTOM[2].wire_name, "metadata": metadata}
    quota = {"apiVersion": CUSTOM[0].api_version, "kind": CUSTOM[0].name, "metadata": metadata}
    zones = {"apiVersion": CUSTOM[1].api_version, "kind": CUSTOM[1].name, "metadata": {"name": "a"}}
    kube_api.create_all(
        [
            node("a", cpu="4"),
            {**group, "spec": {"minMember": "many"}},
            {**group, "metadata": {**metadata, "name": "negative"}, "spec": {"minMember": -3}},
            {**quota, "spec": {"max": [1]}},
            {**zones, "zones": 5},
        ]
    )
    config = {"profiles": [{**CONFIG["profiles"][0], "plugins": {**CONFIG["profiles"][0]["plugins"]}}]}
    plugins = config["profiles"][0]["plugins"]
    plugins["multiPoint"] = {"enabled": [{"name": "NodeResourceTopologyMatch"}]}
    del plugins["queueSort"], plugins["score"]
    process = start_stowplan("--coscheduling", config=config)
    members = [guaranteed(f"m{number}", namespace, "500m") for number in range(2)]
    alone = guaranteed("alone", namespace, "500m")
    for each, name in ((members[0], "bad"), (members[1], "bad"), (alone, "negative")):
        each["metadata"]["labels"] = {"scheduling.x-k8s.io/pod-group": name}
    kube_api.create_all([*members, alone, guaranteed("plain", namespace, "500m")])
    wait_for(kube_api, "plain", namespace, "a")
    wait_for(kube_api, "alone", namespace, "a")  # A negative minimum requires no member.
    lines = [line for line in process.log.read_text().splitlines() if "Failed to decode object, ignoring it" in line]
    kinds = ("ElasticQuota", "NodeResourceTopology", "PodGroup")
    assert sorted(kind for line in lines for kind in kinds if kind in line) == [*kinds]
    assert len(lines) == 3
    assert [outcome(kube_api, f"m{number}", namespace) for number in range(2)] == ["", ""]
    kube_api.patch(GROUP, "bad", {"spec": {"minMember": 2}}, namespace)
    wait_until(lambda: all(outcome(kube_api, f"m{number}", namespace) == "a" for number in range(2)), what="the gang")


@pytest.mark.usefixtures("permitted")
def test_groups_of_another_version_are_one_line(
    kube_api: KubeApi, namespace: str, start_stowplan: StartStowplan
) -> None:
    kind = CUSTOM[2]
    group = kind.api_version.partition("/")[0]
    made = definition(group, "v2", kind.wire_name, kind.resource, "Namespaced")
    kube_api.create(made)
    try:
        wait_until(lambda: _is_served(kube_api, f"{group}/v2/{kind.wire_name}"), what="the kind")
        process = start_stowplan("--coscheduling")
        labelled = guaranteed("labelled", namespace, "1")
        labelled["metadata"]["labels"] = {"scheduling.x-k8s.io/pod-group": "g"}
        kube_api.create_all([node("a"), labelled, guaranteed("plain", namespace, "1")])
        wait_for(kube_api, "plain", namespace, "a")
        lines = [line for line in process.log.read_text().splitlines() if "does not serve this resource" in line]
        if not CLAIMS_ARE_SERVED:  # NodeResourcesFit reads device classes.
            lines = [line for line in lines if 'resource="deviceclasses"' not in line]
        assert [kind.api_version in line for line in lines] == [
            True
        ]  # Nothing of scheduling.k8s.io, which is optional.
        assert outcome(kube_api, "labelled", namespace) == ""
    finally:
        kube_api.delete(DEFINITION, made["metadata"]["name"])
        wait_until(
            lambda: all(each["metadata"]["name"] != made["metadata"]["name"] for each in kube_api.list(DEFINITION)),
            what="the end of the kind",
        )


@pytest.mark.usefixtures("permitted")
def test_without_the_kinds_and_metrics_there_is_one_line_each(
    kube_api: KubeApi, namespace: str, start_stowplan: StartStowplan
) -> None:
    kube_api.create_all([node("a"), node("b")])
    process = start_stowplan(config=CONFIG)
    for number in range(3):
        kube_api.create(guaranteed(f"p{number}", namespace, "1"))
    wait_until(lambda: all(outcome(kube_api, f"p{number}", namespace) in ("a", "b") for number in range(3)))
    lines = wait_until(lambda: _lines(process.log.read_text()), what="a line about the metrics") or {}
    assert lines["elasticquotas"] == lines["noderesourcetopologies"] == lines["Load metrics"] == 1


def _lines(text: str) -> dict[str, int] | None:
    """The number of warnings about each source; None until there is one about each."""
    words = ("elasticquotas", "noderesourcetopologies", "Load metrics")
    warnings = [line for line in text.splitlines() if line.startswith(("W", "E"))]
    found = {word: sum(word in line for line in warnings) for word in words}
    return found if all(found.values()) else None
