from itertools import pairwise

import pytest

from stowplan.simulator.demo.scenario import load_scenario
from stowplan.simulator.demo.scenario_run import ScenarioRun
from stowplan.simulator.watch.playback import Playback


class Wall:
    """A clock on the wall that a test winds, by sleeping and by looking at it."""

    def __init__(self, tick: float = 0.0) -> None:
        self.now = 100.0
        self.slept = 0.0
        self._tick = tick

    def clock(self) -> float:
        self.now += self._tick
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept += seconds


def drive(wall: Wall, **options: float) -> Playback:
    return Playback(ScenarioRun(load_scenario(), 6, 0), wall.clock, wall.sleep, **options)


@pytest.mark.parametrize("speed", [1.0, 8.0])
def test_simulated_time_keeps_in_step(speed: float) -> None:
    wall = Wall()
    moments = [summary.elapsed for summary in drive(wall, speed=speed).frames(0.5)]
    assert moments[0] == 0.0
    assert moments[-1] == load_scenario().seconds
    assert {round(later - earlier, 6) for earlier, later in pairwise(moments)} == {0.5 * speed}
    assert wall.now - 100.0 == pytest.approx(load_scenario().seconds / speed + 0.5)


def test_it_stops_when_it_is_told_to() -> None:
    wall = Wall()
    assert [summary.elapsed for summary in drive(wall, duration=2.0).frames(1.0)] == [0.0, 1.0]


def test_a_frame_is_not_held_up_by_work() -> None:
    """Where every look at the clock takes its time, frames still come, and the cluster lags behind."""
    wall = Wall(tick=0.05)
    frames = drive(wall, speed=100.0, duration=3.0).frames(0.5)
    moments = [summary.elapsed for summary in frames]
    assert len(moments) >= 4
    assert moments[-1] < 300.0


def test_events_reach_the_feed() -> None:
    demo = drive(Wall(), duration=1.0)
    summary = list(demo.frames(0.5))[-1]
    assert any(entry.kind == "Placed" for entry in summary.entries)
    assert not demo.run.simulation.api_server.events
