"""Keeps simulated time in step with real time, and looks at the cluster now and then."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from stowplan.simulator.demo.cluster_summary import ClusterSummary
from stowplan.simulator.demo.scenario_run import ScenarioRun
from stowplan.simulator.simulation import EPOCH

_NO_TIME = 1e-9


class Playback:
    """Runs a stage at so many simulated seconds a second. Clock and sleep are those of the real world."""

    def __init__(
        self,
        stage: ScenarioRun,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
        *,
        speed: float = 1.0,
        duration: float | None = None,
    ) -> None:
        """`duration` is when to stop at the latest, in seconds of the clock."""
        self.stage = stage
        self._clock = clock
        self._sleep = sleep
        self._speed = speed
        self._duration = duration
        self._busy = 0.0

    def frames(self, interval: float) -> Iterator[ClusterSummary]:
        """The cluster every so many seconds, until the scenario is over."""
        start = self._clock()
        seconds = self.stage.scenario.seconds
        while self.stage.elapsed < seconds and (self._duration is None or self._clock() - start < self._duration):
            frame_end = self._clock() + interval
            self._run(EPOCH + min(seconds, (self._clock() - start) * self._speed), frame_end)
            yield ClusterSummary.of(self.stage, self.rate)
            self._sleep(max(0.0, frame_end - self._clock()))

    @property
    def rate(self) -> float:
        """Decisions a second of work."""
        return self.stage.recorder.decisions / max(self._busy, _NO_TIME)

    def _run(self, until: float, deadline: float) -> None:
        """Let the cluster come to a moment, or as close as there is time for."""
        simulation = self.stage.simulation
        begin = self._clock()
        while self._clock() < deadline:
            if not simulation.step() and not simulation.advance(until):
                simulation.clock.now = max(simulation.clock.now, until)
                break
        self._busy += self._clock() - begin
        events = simulation.api_server.events
        while events:
            self.stage.feed.take(self.stage.elapsed, events.popleft())
