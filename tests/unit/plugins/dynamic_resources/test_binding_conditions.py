from datetime import UTC, datetime

import pytest

from stowplan import api
from stowplan.framework import Code, Status
from stowplan.plugins.dynamic_resources.binding_conditions import readiness, timed_out

ALLOCATED_AT = "2026-01-01T00:00:00Z"
START = datetime(2026, 1, 1, tzinfo=UTC).timestamp()


def result(device: str = "d", conditions: tuple[str, ...] = ("Ready",)) -> api.DeviceRequestAllocationResult:
    return api.DeviceRequestAllocationResult(
        driver="x", pool="p", device=device, binding_conditions=conditions, binding_failure_conditions=("Broken",)
    )


def report(device: str = "d", **conditions: str) -> api.AllocatedDeviceStatus:
    told = (api.Condition(type=t, status=s, reason="Why", message='so "it" is') for t, s in conditions.items())
    return api.AllocatedDeviceStatus(driver="x", pool="p", device=device, conditions=tuple(told))


def claim(
    results: tuple[api.DeviceRequestAllocationResult, ...],
    reports: tuple[api.AllocatedDeviceStatus, ...] = (),
    allocated_at: str | None = ALLOCATED_AT,
) -> api.ResourceClaim:
    allocation = api.AllocationResult(
        devices=api.DeviceAllocationResult(results=results), allocation_timestamp=allocated_at
    )
    status = api.ResourceClaimStatus(allocation=allocation, devices=reports)
    return api.ResourceClaim(metadata=api.ObjectMeta(name="c"), status=status)


FAILED = Status(
    Code.Error,
    'device binding failed: claim=c, reason=Why, message="so \\"it\\" is"',
    plugin="DynamicResources",
)


@pytest.mark.parametrize(
    ("results", "reports", "expected"),
    [
        ((), (), True),
        ((result(conditions=()),), (), True),
        ((result(),), (), False),
        ((result(),), (report(device="other", Ready="True"),), False),
        ((result(),), (report(Ready="True"),), True),
        ((result(),), (report(Ready="False"),), False),
        ((result(conditions=("Ready", "Wired")),), (report(Ready="True"),), False),
        ((result(),), (report(Broken="True", Ready="True"),), FAILED),
        ((result(),), (report(Broken="False", Ready="True"),), True),
        ((result(), result("e")), (report(Ready="True"), report("e", Broken="True")), FAILED),
        # The first device that is not ready ends the search.
        ((result(), result("e")), (report(), report("e", Broken="True")), False),
        ((result(conditions=()), result("e")), (report(Broken="True"), report("e", Ready="True")), True),
    ],
)
def test_readiness(
    results: tuple[api.DeviceRequestAllocationResult, ...],
    reports: tuple[api.AllocatedDeviceStatus, ...],
    expected: bool | Status,
) -> None:
    assert readiness(claim(results, reports)) == expected


@pytest.mark.parametrize(
    ("results", "allocated_at", "now", "expected"),
    [
        ((result(),), ALLOCATED_AT, START + 601, True),
        ((result(),), ALLOCATED_AT, START + 600, False),
        ((result(),), None, START + 601, False),
        ((result(conditions=()),), ALLOCATED_AT, START + 601, False),
    ],
)
def test_time_to_get_ready(
    results: tuple[api.DeviceRequestAllocationResult, ...], allocated_at: str | None, now: float, expected: bool
) -> None:
    assert timed_out(claim(results, allocated_at=allocated_at), 600, now) is expected


def test_a_claim_without_allocation_never_times_out() -> None:
    assert not timed_out(api.ResourceClaim(), 600, START + 601)
