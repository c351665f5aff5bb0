"""Runs a simulation in step with real time and yields the state of the cluster at intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from stowplan.simulator.watch.cluster_summary import ClusterSummary
from stowplan.simulator.watch.watched_run import WatchedRun

_MIN_SECONDS = 1e-9
_MAX_SPEED_STEPS = 20


class Playback:
    """Runs at `speed` units per second of the injected clock: simulated seconds, or attempts of a FileRun."""

    def __init__(
        self,
        run: WatchedRun,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
        *,
        speed: float = 1.0,
        duration: float | None = None,
    ) -> None:
        """`duration` is the maximum run time in seconds of the clock."""
        self.run = run
        self.paused = False
        self.stopped = False
        self._clock = clock
        self._sleep = sleep
        self._speed = speed
        self._speed_steps = 0
        self._steps = 0
        self._duration = duration
        self._busy = 0.0

    @property
    def speed(self) -> float:
        return self._speed * 2.0**self._speed_steps

    def faster(self) -> None:
        self._speed_steps = min(self._speed_steps + 1, _MAX_SPEED_STEPS)

    def slower(self) -> None:
        self._speed_steps = max(self._speed_steps - 1, -_MAX_SPEED_STEPS)

    def step(self) -> None:
        """Pause, and run one attempt before the next frame."""
        self.paused = True
        self._steps += 1

    def frames(self, interval: float) -> Iterator[ClusterSummary]:
        """The state of the cluster at each interval, until the run is finished or stopped."""
        start = last = self._clock()
        while True:
            now = self._clock()
            frame_end = now + interval
            self._run(now - last, frame_end)
            last = now
            yield ClusterSummary.of(self.run, self.rate)
            self._sleep(max(0.0, frame_end - self._clock()))
            out_of_time = self._duration is not None and self._clock() - start >= self._duration
            if self.run.finished or self.stopped or out_of_time:
                return

    @property
    def rate(self) -> float:
        """Decisions per second of work."""
        return self.run.recorder.decisions / max(self._busy, _MIN_SECONDS)

    def _run(self, seconds: float, deadline: float) -> None:
        """Run on by what some seconds of the clock are worth, or until the deadline."""
        begin = self._clock()
        if not self.paused:
            self.run.proceed(seconds * self.speed, lambda: self._clock() >= deadline)
        while self._steps and not self.run.finished:
            self._steps -= 1
            self.run.step()
        self._busy += self._clock() - begin
        self.run.collect_events()
