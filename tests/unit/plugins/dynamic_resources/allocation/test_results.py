from tests.unit.plugins.dynamic_resources.allocation.supply import Supply, claim, device, exactly, node_info, slice_

from stowplan import api
from stowplan.plugins.dynamic_resources.allocation import AllocationFailure


def opaque(mode: str) -> dict[str, object]:
    return {"opaque": {"driver": "d", "parameters": mode}}


def only(supply: Supply, asked: dict[str, object], on: str = "n") -> api.AllocationResult:
    found = supply.allocate(asked, on=node_info(on, zone="z"))
    assert isinstance(found, tuple)
    return found[0]


def test_settings_of_classes_come_once_and_those_of_the_claim_as_they_concern_requests() -> None:
    supply = Supply(slice_("s", *map(device, "abc")), gpu={"config": [opaque("class")]})
    asked = claim(
        exactly(of="gpu"),
        [exactly(9, of="gpu"), exactly(of="gpu")],
        exactly(),
        config=[
            opaque("all"),
            {"requests": ["r1/a0"], **opaque("other")},
            {"requests": ["r1/a1", "r2"], **opaque("some")},
        ],
    )
    config = only(supply, asked).devices.config
    assert [(c.source, c.requests, c.opaque and c.opaque.parameters) for c in config] == [
        ("FromClass", ("r0", "r1/a1"), "class"),
        ("FromClaim", (), "all"),
        ("FromClaim", ("r1/a1", "r2"), "some"),
        ("FromClaim", ("r1/a1", "r2"), "some"),
    ]


def test_what_a_result_tells_of_request_and_device() -> None:
    conditions = {"bindingConditions": ["ready"], "bindingFailureConditions": ["broken"]}
    toleration = {"key": "k", "operator": "Exists"}
    supply = Supply(slice_("s", device("a") | conditions))
    (result,) = only(supply, claim(exactly(adminAccess=True, tolerations=[toleration]))).devices.results
    assert result == api.DeviceRequestAllocationResult(
        request="r0",
        driver="d",
        pool="p",
        device="a",
        admin_access=True,
        tolerations=(api.DeviceToleration(key="k", operator="Exists"),),
        binding_conditions=("ready",),
        binding_failure_conditions=("broken",),
    )


def test_the_nodes_that_can_reach_what_was_allocated() -> None:
    zone = {"key": "zone", "operator": "In", "values": ["z", "y"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}
    more = [{**zone, "values": ["y", "z"]}, {"key": "zone", "operator": "Exists"}]
    again = {"nodeSelectorTerms": [{"matchExpressions": more}]}
    everywhere = slice_("s", device("a"), pool="a", allNodes=True)
    zonal = slice_("t", device("b"), pool="b", nodeSelector=terms)
    zonal_too = slice_("u", device("c"), pool="c", nodeSelector=again)
    local = slice_("v", device("d"), pool="d")
    assert only(Supply(everywhere), claim(exactly())).node_selector is None
    selector = only(Supply(everywhere, zonal, zonal_too), claim(exactly(3))).node_selector
    assert selector is not None
    assert [e.operator for e in selector.node_selector_terms[0].match_expressions] == ["In", "Exists"]
    selector = only(Supply(everywhere, zonal, local), claim(exactly(3))).node_selector
    assert selector is not None
    assert selector.node_selector_terms[0].match_fields[0].values == ("n",)
    bound = slice_("w", device("e", bindsToNode=None) | {"bindsToNode": True}, pool="e", allNodes=True)
    assert only(Supply(bound), claim(exactly()), on="m").node_selector == api.NodeSelector(
        node_selector_terms=(
            api.NodeSelectorTerm(
                match_fields=(api.NodeSelectorRequirement(key="metadata.name", operator="In", values=("m",)),)
            ),
        )
    )


def test_a_selector_of_several_terms_is_more_than_an_allocation_can_say() -> None:
    two = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}] * 2}
    answer = Supply(slice_("s", device("a"), nodeSelector=two)).allocate(claim(exactly()), on=node_info(zone="z"))
    assert answer == AllocationFailure(
        "create NodeSelector for claim c: unsupported ResourceSlice.NodeSelector with 2 terms"
    )
