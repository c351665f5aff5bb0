"""Which pods share a template."""

import gc
from typing import Any
from weakref import ref

import pytest
from tests.builders import HOSTNAME, Json, World, away, container, node, pod, selector, spread, term

from stowplan.api import ObjectMeta

INDEX = "apps.kubernetes.io/pod-index"
POD_NAME = "statefulset.kubernetes.io/pod-name"


def owned(**changes: Any) -> Json:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "1", "controller": True, **changes}
    return {"metadata": {"ownerReferences": [owner]}}


def token(name: str) -> Json:
    return {"name": f"kube-api-access-{name}", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}


def templates(*items: Json, world: World | None = None) -> list[Any]:
    world = world or World()
    return [world.pod(item).template for item in items]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({}, {}),
        ({"volumes": [token("x")]}, {"volumes": [token("y")]}),
        ({"volumes": [token("x")]}, {}),
        ({"volumes": [{"name": "c", "configMap": {"name": "m"}}]}, {"volumes": [{"name": "e", "emptyDir": {}}]}),
        ({"labels": {"app": "a", INDEX: "0"}}, {"labels": {"app": "a", INDEX: "1"}}),
        ({"labels": {POD_NAME: "w-0"}}, {"labels": {POD_NAME: "w-1"}}),
        ({"status": {"startTime": "2026-01-01T00:00:00Z"}}, {"status": {"phase": "Running"}}),
        ({"nominated": "n"}, {}),
        ({"on": "n"}, {}),
        ({"metadata": {"annotations": {"a": "1"}}}, {"metadata": {"annotations": {"a": "2"}}}),
    ],
)
def test_differences_that_make_no_difference(a: Json, b: Json) -> None:
    first, second = templates(pod("x", **a), pod("y", **b))
    assert first is second


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({"labels": {"app": "a"}}, {"labels": {"app": "b"}}),
        ({"namespace": "other"}, {}),
        ({"requests": {"cpu": 1}}, {}),
        ({"priority": 1}, {"priority": 2}),
        ({"tolerations": [{"operator": "Exists"}]}, {}),
        ({"containers": [container(image="b:1")]}, {}),
        ({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "x"}}]}, {}),
        ({"volumes": [{"name": "v", "ephemeral": {}}]}, {"volumes": [{"name": "w", "ephemeral": {}}]}),
        (owned(), {}),
        (owned(), owned(name="other")),
        (owned(), owned(controller=False)),
    ],
)
def test_differences_that_matter(a: Json, b: Json) -> None:
    first, second = templates(pod("x", **a), pod("y", **b))
    assert first is not second


def indexed(number: int, **more: Any) -> Json:
    return pod(f"w-{number}", labels={"app": "a", INDEX: str(number)}, **more)


READERS: dict[str, Any] = {
    "anti-affinity": lambda world: world.pod(
        pod("reader", affinity=away({"topologyKey": HOSTNAME, "labelSelector": selector(**{INDEX: "1"})}))
    ),
    "spread": lambda world: world.pod(
        pod("reader", topologySpreadConstraints=[spread(labelSelector=selector(**{INDEX: "1"}))])
    ),
    "matchLabelKeys": lambda world: world.pod(
        pod("reader", topologySpreadConstraints=[spread(matchLabelKeys=[INDEX])])
    ),
    "service": lambda world: world.put(
        "Service", name="s", namespace="default", spec={"selector": {INDEX: "1"}}
    ),
    "stateful set": lambda world: world.put(
        "StatefulSet", name="s", namespace="default", spec={"selector": selector(**{INDEX: "1"})}
    ),
}  # fmt: skip


@pytest.mark.parametrize("reader", READERS)
def test_labels_of_replicas_split_templates_once_somebody_reads_them(reader: str) -> None:
    world = World()
    running = [world.add_pod(indexed(i, on="n")) for i in range(2)]
    assert running[0].template is running[1].template
    assert INDEX not in running[0].template.labels
    READERS[reader](world)
    assert running[0].template is not running[1].template
    assert running[1].template.labels[INDEX] == "1"
    assert world.pod(indexed(1)).template is running[1].template


def test_a_pod_that_waits_is_given_its_new_template_by_its_keeper() -> None:
    world = World()
    waiting = world.pod(indexed(1))
    READERS["service"](world)
    assert INDEX not in waiting.template.labels
    world.cluster.retemplate(waiting)
    assert waiting.template.labels[INDEX] == "1"


def test_affinity_that_reads_other_labels_splits_nothing() -> None:
    world = World()
    first, second = templates(indexed(0, affinity=away(term())), indexed(1, affinity=away(term())), world=world)
    assert first is second


def test_templates_are_dropped_with_their_last_pod() -> None:
    world = World()
    first = world.pod(pod("x", labels={"app": "a"}))
    world.pod(pod("y", labels={"app": "b"}))
    marker = first.template.derived.setdefault("marker", object())
    assert world.pod(pod("z", labels={"app": "a"})).template.derived["marker"] is marker
    del first
    world.pod(pod("y", labels={"app": "b"}))
    gc.collect()
    assert "marker" not in world.pod(pod("z", labels={"app": "a"})).template.derived


def test_what_a_pod_keeps_to_itself() -> None:
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    item = pod("p", "n", nominated="m", status={"startTime": "2026-01-01T00:00:00Z", "conditions": [condition]})
    made = World().pod(item)
    assert (made.node_name, made.nominated_node_name, made.start_time) == ("n", "m", "2026-01-01T00:00:00Z")
    assert not made.terminating
    assert not made.being_preempted
    item["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    made = World().pod(item)
    assert made.terminating
    assert made.being_preempted
    assert made.template.spec.node_name == ""


def test_a_large_template_does_not_outlive_its_pods() -> None:
    """Neither plans nor shared answers nor the table of templates keep what a deleted pod named."""
    world = World([node(f"n{i}") for i in range(20)])
    selected = {f"key-{i}": "v" for i in range(2000)}
    large = world.pod(pod("large", nodeSelector=selected))
    small = world.pod(pod("small", nodeSelector={"key": "v"}))
    assert (large.template.large, small.template.large) == (True, False)
    assert world.pod(pod("replica", nodeSelector=selected)).template is large.template
    for _ in range(3):
        assert world.decide(large).message == world.afresh(large).message
    gone = ref(large.template)
    del large
    world.decide(pod("other"))
    gc.collect()
    assert gone() is None


CLAIMING: Json = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}]}


def claiming(name: str, claim: str | None = None, **more: Any) -> Json:
    """A pod with a claim, which may be generated."""
    statuses = [] if claim is None else [{"name": "gpu", "resourceClaimName": claim}]
    return pod(name, status={"resourceClaimStatuses": statuses}, **CLAIMING, **more)


def test_pods_with_generated_claims_differ_in_nothing_but_the_claims() -> None:
    world = World([node("n")])
    waiting, first, second, again = (
        world.pod(claiming(*names)) for names in (("w",), ("x", "a"), ("y", "b"), ("x", "a"))
    )
    base = waiting.template
    assert base is not first.template is not second.template
    assert again.template is first.template
    assert [status.resource_claim_name for status in second.template.claim_statuses] == ["b"]
    assert first.template.base is second.template.base is base
    assert first.template.derived is second.template.derived is base.derived
    assert first.template.spec is base.spec
    footprint = world.cluster.footprint
    assert footprint(first.template) is footprint(second.template) is footprint(base)


def test_pods_that_name_claims_of_their_own_share_what_is_computed() -> None:
    world = World([node("n")])
    first, second, again, both = (
        world.pod(pod(name, resourceClaims=[{"name": "gpu", "resourceClaimName": claim}, *more], status=status))
        for name, claim, more, status in (
            ("x", "a", [], {}),
            ("y", "b", [], {}),
            ("z", "a", [], {}),
            (
                "v",
                "a",
                CLAIMING["resourceClaims"],
                {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "g"}]},
            ),
        )
    )
    assert first.template is again.template is not second.template
    assert [claim.resource_claim_name for claim in second.spec.resource_claims] == ["b"]
    assert first.template.base is second.template.base is not None
    assert first.template.derived is second.template.derived
    assert [claim.resource_claim_name for claim in both.spec.resource_claims] == ["a", None]
    assert both.template.base is not None
    assert both.template.base.base is None


def test_out_of_tree_plugins_may_read_the_names_of_claims() -> None:
    world = World()
    world.cluster.templates.serve_plugins(frozenset())
    first, second = (
        world.pod(pod(name, resourceClaims=[{"name": "gpu", "resourceClaimName": name}])).template for name in "ab"
    )
    assert first.base is second.base is None
    assert first.derived is not second.derived


def test_claims_stay_with_a_pod_whose_template_is_made_again() -> None:
    world = World()
    waiting = world.pod(claiming("x", "a", labels={"app": "a", INDEX: "1"}))
    READERS["service"](world)
    world.cluster.retemplate(waiting)
    assert waiting.template.labels[INDEX] == "1"
    assert [status.resource_claim_name for status in waiting.template.claim_statuses] == ["a"]


def test_large_templates_with_generated_claims_share_nothing_that_is_computed() -> None:
    selected = {f"key-{i}": "v" for i in range(2000)}
    world = World()
    first, second = (world.pod(claiming(name, name, nodeSelector=selected)) for name in "ab")
    assert first.template.large
    assert first.template.derived is not second.template.derived
    assert world.cluster.footprint(first.template) is not world.cluster.footprint(second.template)


def test_templates_with_generated_claims_are_dropped_with_their_last_pod() -> None:
    world = World()
    made = world.pod(claiming("x", "a"))
    gone, base = ref(made.template), ref(made.template.base)
    del made
    world.decide(pod("other"))
    world.cluster.templates.sweep()
    gc.collect()
    assert (gone(), base()) == (None, None)


def test_pods_of_a_template_share_equal_parts_of_their_metadata() -> None:
    world = World()
    world.cluster.templates.serve_plugins(frozenset())
    first = world.pod(pod("x-0", labels={"app": "a", INDEX: "0"}, **owned()))
    equal = world.pod(pod("x-1", labels={"app": "a", INDEX: "0"}, **owned()))
    other = world.pod(pod("x-2", labels={"app": "a"}, **owned(uid="2")))
    assert first.template is equal.template is other.template
    assert isinstance(first.details, ObjectMeta)
    assert equal.details == ("", "")
    assert equal.metadata.owner_references is first.metadata.owner_references
    assert equal.status is first.status
    assert (equal.metadata.name, equal.metadata.uid) == ("x-1", equal.uid)
    assert equal.metadata.labels == {"app": "a", INDEX: "0"}
    assert other.metadata.labels == {"app": "a"}
    assert other.metadata.owner_references[0].uid == "2"
    running = world.pod(pod("x-3", labels={"app": "a"}, status={"phase": "Running"}, **owned()))
    assert running.template is first.template
    assert (running.status.phase, first.status.phase) == ("Running", "")


def test_a_new_template_leaves_metadata_and_status_as_they_are() -> None:
    world = World()
    world.cluster.templates.serve_plugins(frozenset())
    made = {"metadata": {"creationTimestamp": "2026-01-02T03:04:05Z", "resourceVersion": "7", "generation": 3}}
    pods = [world.pod(pod(f"x-{i}", labels={"app": "a", INDEX: "1"}, **made)) for i in range(2)]
    READERS["service"](world)
    for i, waiting in enumerate(pods):
        world.cluster.retemplate(waiting)
        metadata = waiting.metadata
        assert (metadata.name, metadata.resource_version, metadata.generation) == (f"x-{i}", "7", 3)
        assert metadata.creation_timestamp == "2026-01-02T03:04:05Z"
        assert waiting.status.phase == ""
