from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from stowplan import api
from stowplan.cache import Cluster
from stowplan.config.args import DynamicResourcesArgs
from stowplan.config.releases import RELEASES
from stowplan.framework import Action, Code, CycleState, EventResource, Pod, QueueingHint, Status, implements
from stowplan.plugins.dynamic_resources import DynamicResources
from stowplan.plugins.dynamic_resources.plugin import STATE

QUEUE, SKIP = QueueingHint.Queue, QueueingHint.QueueSkip
ON_A = api.NodeSelector(
    node_selector_terms=(
        api.NodeSelectorTerm(
            match_fields=(api.NodeSelectorRequirement(key="metadata.name", operator="In", values=("a",)),)
        ),
    )
)
IN_ZONE = api.NodeSelector(
    node_selector_terms=(
        api.NodeSelectorTerm(
            match_expressions=(api.NodeSelectorRequirement(key="zone", operator="In", values=("x",)),)
        ),
    )
)
MALFORMED = api.NodeSelector(
    node_selector_terms=(
        api.NodeSelectorTerm(match_expressions=(api.NodeSelectorRequirement(key="zone", operator="Near"),)),
    )
)
exactly_one = partial(api.ExactDeviceRequest, allocation_mode="ExactCount", count=1)
FREE = api.ResourceClaimStatus()
FAILING = api.ResourceClaimStatus(
    allocation=api.AllocationResult(
        devices=api.DeviceAllocationResult(
            results=(
                api.DeviceRequestAllocationResult(
                    device="d", binding_conditions=("Ready",), binding_failure_conditions=("Broken",)
                ),
            )
        ),
        allocation_timestamp="2026-01-01T00:00:00Z",
    ),
    devices=(api.AllocatedDeviceStatus(device="d", conditions=(api.Condition(type="Broken", status="True"),)),),
)


def allocated(selector: api.NodeSelector | None = None, *users: str) -> api.ResourceClaimStatus:
    consumers = tuple(api.ResourceClaimConsumerReference(resource="pods", uid=uid) for uid in users)
    return api.ResourceClaimStatus(allocation=api.AllocationResult(node_selector=selector), reserved_for=consumers)


def claim(name: str, status: api.ResourceClaimStatus = FREE, *, device_class: str = "gpu") -> api.ResourceClaim:
    request = api.DeviceRequest(name="req", exactly=exactly_one(device_class_name=device_class))
    return api.ResourceClaim(
        metadata=api.ObjectMeta(name=name, namespace="ns", uid=f"uid-{name}"),
        spec=api.ResourceClaimSpec(devices=api.DeviceClaim(requests=(request,))),
        status=status,
    )


def handle(cluster: Cluster) -> Any:
    """Of a scheduler that only looks: what is to be written is not."""
    return SimpleNamespace(cluster=cluster, start=lambda steps: steps.close())


@pytest.fixture
def plugin() -> DynamicResources:
    cluster = Cluster()
    for name, zone, gpus in (("a", "x", "0"), ("b", "x", "4"), ("c", "y", None)):
        allocatable: api.ResourceList = {} if gpus is None else {"example.com/gpu": gpus}
        metadata = api.ObjectMeta(name=name, labels={"zone": zone})
        cluster.put_node(api.Node(metadata=metadata, status=api.NodeStatus(allocatable=allocatable)))
    spec = api.DeviceClassSpec(extended_resource_name="example.com/gpu")
    cluster.put(api.DeviceClass(metadata=api.ObjectMeta(name="gpu"), spec=spec))
    return DynamicResources(DynamicResourcesArgs(), handle(cluster), clock=lambda: 0.0)


def run(steps: Any) -> Any:
    """What a coroutine comes to that has nothing to wait for."""
    with pytest.raises(StopIteration) as end:
        steps.send(None)
    return end.value.value


def using(plugin: DynamicResources, *claims: api.ResourceClaim, gpus: str = "0", uid: str = "u") -> Pod:
    """A pod that names the claims, all of which exist."""
    for item in claims:
        plugin.cluster.put(item)
    entries = (api.PodResourceClaim(name=c.metadata.name, resource_claim_name=c.metadata.name) for c in claims)
    container = api.Container(resources=api.ResourceRequirements(requests={"example.com/gpu": gpus}))
    return plugin.cluster.pod(
        api.Pod(
            metadata=api.ObjectMeta(name="p", namespace="ns", uid=uid),
            spec=api.PodSpec(resource_claims=tuple(entries), containers=(container,)),
        )
    )


def cycle(plugin: DynamicResources, pod: Pod) -> tuple[Status | None, dict[str, str], str]:
    """(PreFilter, reasons of rejected nodes, PostFilter); both forms of the filter are held against each other."""
    state, nodes = CycleState(), plugin.nodes.everything()
    answer = plugin.pre_filter(state, pod, nodes)
    statuses: dict[str, Status] = {}
    if answer is None:
        statuses = {i.name: s for i in plugin.nodes if (s := plugin.filter(state, pod, i)) is not None}
        masks = list(plugin.filter_nodes(state, pod, nodes))
        assert {i.name: s for p, i in nodes.infos() for mask, s in masks if mask[p]} == statuses
        assert all(s.code is Code.UnschedulableAndUnresolvable for s in statuses.values())
    outcome = plugin.post_filter(state, pod, statuses)
    assert outcome.code is Code.Unschedulable
    return answer, {name: status.message for name, status in statuses.items()}, outcome.message


OUT = "resourceclaim not available on the node"
NONE_LEFT = "cannot allocate all claims"


@pytest.mark.parametrize(
    ("statuses", "rejected", "outcome"),
    [
        ((allocated(),), {}, "still not schedulable"),
        ((allocated(ON_A, "u"),), {"b": OUT, "c": OUT}, "deallocation of ResourceClaim completed"),
        ((allocated(ON_A),), {"b": OUT, "c": OUT}, "deallocation of ResourceClaim completed"),
        ((allocated(ON_A, "another"),), {"b": OUT, "c": OUT}, "still not schedulable"),
        ((allocated(ON_A, "another", "u"),), {"b": OUT, "c": OUT}, "still not schedulable"),
        ((allocated(IN_ZONE, "another"),), {"c": OUT}, "still not schedulable"),
        ((allocated(IN_ZONE), allocated(ON_A, "x")), {"b": OUT, "c": OUT}, "deallocation of ResourceClaim completed"),
        ((allocated(api.NodeSelector(), "x"),), {"a": OUT, "b": OUT, "c": OUT}, "still not schedulable"),
        ((FAILING,), {"a": OUT, "b": OUT, "c": OUT}, "deallocation of ResourceClaim completed"),
        ((FREE,), {"a": NONE_LEFT, "b": NONE_LEFT, "c": NONE_LEFT}, "still not schedulable"),
        # A search for devices that fails says nothing about the claims that have theirs.
        ((allocated(ON_A), FREE), {"a": NONE_LEFT, "b": NONE_LEFT, "c": NONE_LEFT}, "still not schedulable"),
    ],
)
def test_nodes_must_reach_what_was_allocated(
    plugin: DynamicResources, statuses: tuple[api.ResourceClaimStatus, ...], rejected: dict[str, str], outcome: str
) -> None:
    pod = using(plugin, *(claim(f"c{i}", status) for i, status in enumerate(statuses)))
    assert plugin.concerns(pod.template)
    assert cycle(plugin, pod) == (None, rejected, outcome)


def test_claims_on_nodes_that_others_rejected_are_left_alone(plugin: DynamicResources) -> None:
    pod, state = using(plugin, claim("c", allocated(ON_A))), CycleState()
    plugin.pre_filter(state, pod, plugin.nodes.everything())
    elsewhere = Status(Code.Unschedulable, "Insufficient cpu", plugin="NodeResourcesFit")
    assert plugin.post_filter(state, pod, dict.fromkeys("abc", elsewhere)).message == "still not schedulable"


def test_devices_that_never_get_ready_run_out_of_time(plugin: DynamicResources) -> None:
    waiting = api.ResourceClaimStatus(allocation=FAILING.allocation)
    pod = using(plugin, claim("c", waiting))
    assert cycle(plugin, pod)[1] == {}
    later = DynamicResources(DynamicResourcesArgs(), handle(plugin.cluster), clock=lambda: 4e9)
    assert cycle(later, pod)[1] == {"a": OUT, "b": OUT, "c": OUT}


def test_rejections_of_the_whole_pod(plugin: DynamicResources) -> None:
    pod = using(plugin, claim("ok", allocated(ON_A)), claim("c", device_class="absent"), claim("d"))
    plugin.cluster.remove(claim("d"))
    # A claim that is not there is noticed before the classes of the others are looked at.
    status, _, outcome = cycle(plugin, pod)
    assert status == plugin.pre_enqueue(pod)
    assert status is not None
    assert (status.code, status.message) == (
        Code.UnschedulableAndUnresolvable,
        'could not find ResourceClaim "ns/d"',
    )
    assert outcome == "no new claims to deallocate"
    plugin.cluster.put(claim("d"))
    status, _, outcome = cycle(plugin, pod)
    assert plugin.pre_enqueue(pod) is None
    assert status is not None
    assert status.message == "request req: device class absent does not exist"
    assert outcome == "no new claims to deallocate"


def test_a_selector_that_cannot_be_read_is_an_error(plugin: DynamicResources) -> None:
    status = plugin.pre_filter(CycleState(), using(plugin, claim("c", allocated(MALFORMED))), plugin.nodes.everything())
    assert status is not None
    assert status.code is Code.Error
    assert 'nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "Near"' in status.message


@pytest.mark.parametrize(
    ("claims", "rejected"),
    [
        ((), {"a": NONE_LEFT, "c": NONE_LEFT}),
        ((claim("c", allocated(IN_ZONE)),), {"a": NONE_LEFT, "c": NONE_LEFT}),
        ((claim("c", allocated(ON_A)),), {"a": NONE_LEFT, "b": OUT, "c": NONE_LEFT}),
    ],
)
def test_extended_resources_of_device_classes(
    plugin: DynamicResources, claims: tuple[api.ResourceClaim, ...], rejected: dict[str, str]
) -> None:
    pod = using(plugin, *claims, gpus="1")
    assert plugin.concerns(pod.template)
    status, reasons, _ = cycle(plugin, pod)
    assert status is None
    assert reasons == rejected


def test_a_claim_left_for_extended_resources_is_deleted_first(plugin: DynamicResources) -> None:
    left = claim("p-extended-resources-x")
    metadata = api.ObjectMeta(
        name=left.metadata.name,
        namespace="ns",
        annotations={"resource.kubernetes.io/extended-resource-claim": "true"},
        owner_references=(api.OwnerReference(name="p", uid="u", controller=True),),
    )
    plugin.cluster.put(api.ResourceClaim(metadata=metadata, spec=left.spec, status=left.status))
    stale = "cannot schedule extended resource claim"
    expected = (None, dict.fromkeys("abc", stale), "deletion of ResourceClaim completed")
    assert cycle(plugin, using(plugin, gpus="1")) == expected


def test_pods_without_claims_are_skipped(plugin: DynamicResources) -> None:
    pod = using(plugin, gpus="1")
    plugin.cluster.remove(api.DeviceClass(metadata=api.ObjectMeta(name="gpu")))
    assert plugin.concerns(pod.template)
    assert not plugin.concerns(using(plugin).template)
    status, _, outcome = cycle(plugin, pod)
    assert status is not None
    assert status.code is Code.Skip
    assert outcome == "no new claims to deallocate"


def test_post_filter_tells_a_pod_that_was_never_looked_at(plugin: DynamicResources) -> None:
    pod, state = using(plugin), CycleState()
    status = plugin.post_filter(state, pod, {})
    assert (status.code, status.message) == (Code.Error, "not found")
    state.skip_filter |= {"DynamicResources"}
    assert plugin.post_filter(state, pod, {}).message == "no new claims to deallocate"


def test_a_pod_with_claims_passes_no_point_without_pre_filter(plugin: DynamicResources) -> None:
    pod, state = using(plugin, claim("c", allocated())), CycleState()
    (info, *_) = plugin.nodes
    for status in (
        plugin.filter(state, pod, info),
        plugin.reserve(state, pod, "a"),
        plugin.pre_bind_pre_flight(state, pod, "a"),
        run(plugin.pre_bind(state, pod, "a")),
    ):
        assert status is not None
        assert (status.code, status.message) == (Code.Error, "not found")


@pytest.mark.parametrize(
    ("claims", "gpus", "reserve", "flies"),
    [
        ((), "0", None, False),
        ((claim("c", allocated(None, "u")),), "0", None, True),
        ((claim("c"),), "0", "claim allocation not found for node", True),
        ((), "1", None, True),
    ],
)
def test_what_is_left_to_do_for_claims(
    plugin: DynamicResources, claims: tuple[api.ResourceClaim, ...], gpus: str, reserve: str | None, flies: bool
) -> None:
    """Node b has no devices, but offers the extended resource itself."""
    pod, state = using(plugin, *claims, gpus=gpus), CycleState()
    plugin.pre_filter(state, pod, plugin.nodes.everything())
    reserved, flight = plugin.reserve(state, pod, "b"), plugin.pre_bind_pre_flight(state, pod, "b")
    assert (reserved and reserved.message) == reserve
    assert (flight is None) is flies
    assert flight is None or flight.code is Code.Skip
    assert run(plugin.pre_bind(state, pod, "b")) is None
    plugin.unreserve(state, pod, "b")


def test_scores_are_zero(plugin: DynamicResources) -> None:
    pod, state = using(plugin, claim("c", allocated())), CycleState()
    plugin.pre_filter(state, pod, plugin.nodes.everything())
    assert plugin.score_nodes(state, pod, plugin.nodes.everything()).tolist() == [0, 0, 0]
    assert [plugin.score(state, pod, info) for info in plugin.nodes] == [0, 0, 0]


def test_the_points_of_upstream_and_no_others() -> None:
    queue_and_filters = ("pre_enqueue", "pre_filter", "filter", "post_filter", "score")
    binding = ("reserve", "unreserve", "pre_bind_pre_flight", "pre_bind")
    assert all(implements(DynamicResources, point) for point in queue_and_filters + binding)
    assert not any(implements(DynamicResources, point) for point in ("pre_score", "permit", "bind", "add_pod"))
    assert DynamicResources.normalize == "default"


def hint_for(plugin: DynamicResources, resource: EventResource) -> Any:
    return next(r for r in plugin.events_to_register() if r.event.resource == resource)


def test_registered_events(plugin: DynamicResources) -> None:
    changes = Action.Add | Action.Update
    assert {(r.event.resource, r.event.action, r.hint is None) for r in plugin.events_to_register()} == {
        (EventResource.Node, Action.Add | Action.UpdateNodeLabel | Action.UpdateNodeAllocatable, True),
        (EventResource.ResourceClaim, changes, False),
        (EventResource.Pod, Action.UpdatePodGeneratedResourceClaim, False),
        (EventResource.DeviceClass, changes, True),
        (EventResource.ResourceSlice, changes, True),
    }


@pytest.mark.parametrize(("version", "wakes"), [("1.33", False), ("1.34", True), ("1.35", True)])
def test_allocatable_resources_wake_from_v1_34_on(version: str, wakes: bool) -> None:
    release = RELEASES[version].with_gates({"DynamicResourceAllocation": True})
    plugin = DynamicResources(DynamicResourcesArgs(), handle(Cluster(release=release)), clock=lambda: 0.0)
    assert bool(hint_for(plugin, EventResource.Node).event.action & Action.UpdateNodeAllocatable) is wakes


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        (None, claim("own"), QUEUE),
        (None, claim("other"), SKIP),
        (claim("own"), claim("own", allocated()), QUEUE),
        (claim("own"), claim("own", device_class="x"), SKIP),
        (claim("other"), claim("other", allocated()), SKIP),
        (claim("other", allocated()), claim("other"), QUEUE),
    ],
)
def test_claim_events(
    plugin: DynamicResources, old: api.ResourceClaim | None, new: api.ResourceClaim, hint: QueueingHint
) -> None:
    after = hint_for(plugin, EventResource.ResourceClaim).hint
    assert after(using(plugin, claim("own")), old, new) is hint


def test_no_claim_helps_a_pod_that_lacks_another(plugin: DynamicResources) -> None:
    pod = using(plugin, claim("own"), claim("gone"))
    plugin.cluster.remove(claim("gone"))
    after = hint_for(plugin, EventResource.ResourceClaim).hint
    assert after(pod, claim("own", allocated()), claim("own")) is SKIP


@pytest.mark.parametrize(("uid", "exists", "hint"), [("u", True, QUEUE), ("u", False, SKIP), ("x", True, SKIP)])
def test_generated_claims(plugin: DynamicResources, uid: str, exists: bool, hint: QueueingHint) -> None:
    changed = using(plugin, claim("own"), uid=uid)
    if not exists:
        plugin.cluster.remove(claim("own"))
    assert hint_for(plugin, EventResource.Pod).hint(using(plugin), changed, changed) is hint


def test_the_state_is_there_even_if_the_pod_is_rejected(plugin: DynamicResources) -> None:
    pod, state = using(plugin, claim("c")), CycleState()
    plugin.cluster.remove(claim("c"))
    plugin.pre_filter(state, pod, plugin.nodes.everything())
    assert not state.read(STATE)
