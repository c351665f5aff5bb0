import pytest
from tests.builders import make
from tests.unit.simulator.simulated_cluster import SimulatedCluster

from stowplan import api

ONE = ("ExactCount", 1)


@pytest.mark.parametrize(
    ("given", "filled_in"),
    [
        ({}, ONE),
        ({"count": 0}, ONE),
        ({"count": 3}, ("ExactCount", 3)),
        ({"allocationMode": "ExactCount"}, ONE),
        ({"allocationMode": "All"}, ("All", 0)),
    ],
)
def test_one_device_unless_something_else_is_said(given: dict[str, object], filled_in: tuple[str, int]) -> None:
    requests = [{"name": "r", "exactly": given}, {"name": "s", "firstAvailable": [{"name": "t", **given}]}]
    spec = {"devices": {"requests": requests}}
    admission = SimulatedCluster().controllers.admission
    claim: api.ResourceClaim = admission.admit(make("ResourceClaim", "c", spec=spec))
    template: api.ResourceClaimTemplate = admission.admit(make("ResourceClaimTemplate", "t", spec={"spec": spec}))
    assert template.spec.spec == claim.spec
    exactly, alternatives = claim.spec.devices.requests
    assert exactly.exactly is not None
    assert alternatives.exactly is None
    (sub,) = alternatives.first_available
    assert (exactly.exactly.allocation_mode, exactly.exactly.count) == filled_in
    assert (sub.allocation_mode, sub.count) == filled_in
