import os

import pytest
from tests.unit.bench.fakes import PodSeries, scenario

from stowplan.bench import memory
from stowplan.bench.memory import load, load_apart, rss_mib

GIVEN = scenario(kind="memory", incoming=PodSeries(pod={"spec": {"nodeName": "$node"}}))


def test_rss_is_a_plausible_number_with_and_without_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    now = rss_mib()
    assert 10 < now < 2000
    monkeypatch.setattr(memory, "_STATM", memory.Path("/nowhere"))
    assert rss_mib() >= 0.9 * now


def test_pods_are_taken_in_and_timed() -> None:
    loaded = load(GIVEN, 5, 20, 0)
    assert len(loaded.latencies) == 20
    assert min(loaded.latencies) > 0
    assert loaded.cpu > 0


@pytest.mark.slow
def test_another_process_does_not_carry_what_this_one_holds() -> None:
    ballast = os.urandom(100 * 1024 * 1024)
    assert load_apart(GIVEN, 5, 20, 0).rss_mib < rss_mib() - 50
    assert ballast
