import pytest

from stowplan.bench import machine
from stowplan.bench.machine import busy_seconds, calibrate, wait_until_quiet


def test_time_goes_by() -> None:
    before = busy_seconds()
    assert before >= 0
    assert busy_seconds() >= before


@pytest.mark.parametrize(
    ("load", "quiet", "looks"), [([0.0], True, 1), ([1.0, 1.0, 0.05], True, 3), ([1.0], False, 20)]
)
def test_quiet_is_waited_for_but_not_for_ever(
    monkeypatch: pytest.MonkeyPatch, load: list[float], quiet: bool, looks: int
) -> None:
    """`load` is the number of cores at work between looks; the last goes on."""
    clock, busy, waits = 0.0, 0.0, 0

    def sleep(seconds: float) -> None:
        nonlocal clock, busy, waits
        clock += seconds
        busy += seconds * load[min(waits, len(load) - 1)]
        waits += 1

    monkeypatch.setattr(machine, "sleep", sleep)
    monkeypatch.setattr(machine, "monotonic", lambda: clock)
    monkeypatch.setattr(machine, "busy_seconds", lambda: busy)
    monkeypatch.setattr(machine.os, "cpu_count", lambda: 2)
    assert wait_until_quiet() is quiet
    assert waits == looks


def test_the_time_grows_with_the_work() -> None:
    calibrate(1_000)
    assert 0 < calibrate(1_000) < calibrate(300_000)
