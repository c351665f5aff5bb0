"""Runs a scenario in step with real time and yields the state of the cluster at intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from stowplan.simulator.demo.cluster_summary import ClusterSummary
from stowplan.simulator.demo.scenario_run import ScenarioRun
from stowplan.simulator.simulation import EPOCH

_MIN_SECONDS = 1e-9


class Playback:
    """Runs a scenario at `speed` simulated seconds per second of the injected clock."""

    def __init__(
        self,
        run: ScenarioRun,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
        *,
        speed: float = 1.0,
        duration: float | None = None,
    ) -> None:
        """`duration` is the maximum run time in seconds of the clock."""
        self.run = run
        self._clock = clock
        self._sleep = sleep
        self._speed = speed
        self._duration = duration
        self._busy = 0.0

    def frames(self, interval: float) -> Iterator[ClusterSummary]:
        """The state of the cluster at each interval, until the end of the scenario."""
        start = self._clock()
        seconds = self.run.scenario.seconds
        while self.run.elapsed < seconds and (self._duration is None or self._clock() - start < self._duration):
            frame_end = self._clock() + interval
            self._run(EPOCH + min(seconds, (self._clock() - start) * self._speed), frame_end)
            yield ClusterSummary.of(self.run, self.rate)
            self._sleep(max(0.0, frame_end - self._clock()))

    @property
    def rate(self) -> float:
        """Decisions per second of work."""
        return self.run.recorder.decisions / max(self._busy, _MIN_SECONDS)

    def _run(self, until: float, deadline: float) -> None:
        """Run the simulation until a simulated time, or until the deadline of the real clock."""
        simulation = self.run.simulation
        begin = self._clock()
        while self._clock() < deadline:
            if not simulation.step() and not simulation.advance(until):
                simulation.clock.now = max(simulation.clock.now, until)
                break
        self._busy += self._clock() - begin
        events = simulation.api_server.events
        while events:
            self.run.events.take(self.run.elapsed, events.popleft())
