"""Runs of a simulation that proceed in steps, so that the cluster can be shown in between."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

from stowplan.simulator.report.recorder import RunRecorder
from stowplan.simulator.simulation import Simulation
from stowplan.simulator.watch.node_cells import NodeCells
from stowplan.simulator.watch.recent_events import RecentEvents


class WatchedRun(ABC):
    """A simulation with what the view shows of it."""

    title: str
    speed_text: str
    """The speed with its unit; `{}` is the number."""

    def __init__(self, simulation: Simulation, recorder: RunRecorder) -> None:
        self.simulation = simulation
        self.recorder = recorder
        self.events = RecentEvents()
        self.cells = NodeCells()
        self._start = simulation.clock.now

    @property
    def elapsed(self) -> float:
        """Seconds of simulated time."""
        return self.simulation.clock.now - self._start

    @property
    @abstractmethod
    def finished(self) -> bool: ...

    @abstractmethod
    def proceed(self, amount: float, expired: Callable[[], bool]) -> None:
        """Run on by `amount` in the unit of the speed, or until `expired()`."""

    @abstractmethod
    def step(self) -> None:
        """Run one scheduling attempt, with everything that happens before it."""

    def collect_events(self) -> None:
        """Take the events that the API server has received."""
        events = self.simulation.api_server.events
        while events:
            self.events.take(self.elapsed, events.popleft())


class FileRun(WatchedRun):
    """The simulation of given objects: all pods are there at the start, and the speed is in attempts per second."""

    speed_text = "{:,g} attempts/s"

    def __init__(self, simulation: Simulation, recorder: RunRecorder, title: str) -> None:
        super().__init__(simulation, recorder)
        self.title = title
        self._attempts: Iterator[None] = simulation.attempts()
        self._finished = False
        self._owed = 0.0

    @property
    def finished(self) -> bool:
        return self._finished

    def proceed(self, amount: float, expired: Callable[[], bool]) -> None:
        self._owed += amount
        while self._owed >= 1.0 and not self._finished:
            if expired():
                self._owed = 0.0
                return
            self._owed -= 1.0
            self.step()

    def step(self) -> None:
        self._finished = next(self._attempts, self) is self
