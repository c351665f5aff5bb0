"""Arrival processes: when objects of a workload are created, and how many at once."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from stowplan.config.errors import Problems
from stowplan.simulator.scenario.fields import object_count, required, time_at
from stowplan.simulator.scenario.quantities import (
    MissingColumnError,
    RandomQuantity,
    count_of,
    length_of,
    number_of,
    quantity,
    rate_of,
    read_column,
    seconds_of,
)
from stowplan.simulator.scenario.schema import ArrivalsSpec
from stowplan.simulator.streams import RandomStream, RandomStreams

_PROCESSES = ("at", "every", "poisson", "bursts", "closed", "file")


class ArrivalTime(NamedTuple):
    """One arrival: seconds since the start, and the work of its pods if the process knows it."""

    time: float
    duration: float | None = None


Times = Callable[[RandomStream], Iterator[ArrivalTime]]


class ClosedUsers(NamedTuple):
    """Users that submit again after each end."""

    users: int
    think: RandomQuantity


class ArrivalProcess(NamedTuple):
    """A process with its bounds."""

    times: Times
    batch: RandomQuantity
    rate: float
    """Mean arrivals per second; nan if unknown."""
    closed: ClosedUsers | None = None
    begin: float = 0.0
    end: float = math.inf
    limit: int = 0

    def draw(self, streams: RandomStreams, path: str) -> Iterator[ArrivalTime]:
        """The arrivals of a run in the order of time."""
        found = (each for each in self.times(streams.of(path, "arrivals")) if each.time >= self.begin)
        for each in islice(found, self.limit or None):
            if each.time >= self.end:
                return
            yield each


def compile_arrivals(spec: ArrivalsSpec, path: str, problems: Problems, folder: Path) -> ArrivalProcess:
    """The process of a specification; faults are added to `problems`."""
    given = [name for name in _PROCESSES if getattr(spec, name) not in (None, (), "")]
    begin = time_at(spec.from_, f"{path}.from", problems)
    end = math.inf if spec.to is None else time_at(spec.to, f"{path}.to", problems)
    if end <= begin:
        problems.add(f"{path}.to", "must be later than from")
    batch = quantity(spec.batch, f"{path}.batch", problems, count_of, folder)
    if spec.limit < 0:
        problems.add(f"{path}.limit", "must be 0 or more")
    if len(given) != 1:
        problems.add(path, f"expected one process of {', '.join(_PROCESSES)}, got {len(given)}")
        return ArrivalProcess(lambda stream: iter(()), batch, 0.0)
    times, rate, closed = _BUILDERS[given[0]](spec, path, problems, folder)
    if given[0] in ("every", "poisson", "bursts"):
        times = _shifted(times, begin)
    return ArrivalProcess(times, batch, rate * batch.mean, closed, begin, end, spec.limit)


def _shifted(times: Times, begin: float) -> Times:
    return times if not begin else lambda stream: (each._replace(time=each.time + begin) for each in times(stream))


Built = tuple[Times, float, ClosedUsers | None]


def _at(spec: ArrivalsSpec, path: str, problems: Problems, folder: Path) -> Built:
    times = sorted(time_at(value, f"{path}.at[{index}]", problems) for index, value in enumerate(spec.at))
    rate = len(times) / times[-1] if times and times[-1] else math.nan
    return lambda stream: (ArrivalTime(time) for time in times), rate, None


def _every(spec: ArrivalsSpec, path: str, problems: Problems, folder: Path) -> Built:
    interval = time_at(spec.every, f"{path}.every", problems, positive=True)
    return lambda stream: (ArrivalTime(number * interval) for number in _naturals()), 1 / interval, None


def _naturals() -> Iterator[int]:
    number = 0
    while True:
        yield number
        number += 1


def _poisson(spec: ArrivalsSpec, path: str, problems: Problems, folder: Path) -> Built:
    assert spec.poisson is not None
    try:
        rate = rate_of(spec.poisson.rate)
    except ValueError as error:
        problems.add(f"{path}.poisson.rate", str(error))
        rate = 1.0
    if rate <= 0:
        problems.add(f"{path}.poisson.rate", "must be greater than 0")
        rate = 1.0
    if not spec.poisson.curve:
        return lambda stream: _poisson_times(stream, rate), rate, None
    curve = _read_curve(folder / spec.poisson.curve, f"{path}.poisson.curve", problems)
    if curve is None:
        return lambda stream: iter(()), rate, None
    return lambda stream: _thinned(stream, rate, curve), rate * curve.mean, None


def _poisson_times(stream: RandomStream, rate: float) -> Iterator[ArrivalTime]:
    time = 0.0
    while True:
        time -= math.log1p(-stream.uniform()) / rate
        yield ArrivalTime(time)


def _thinned(stream: RandomStream, rate: float, curve: Curve) -> Iterator[ArrivalTime]:
    """Arrivals at the largest rate, of which each stays with the probability that the curve gives."""
    for each in _poisson_times(stream, rate * curve.largest):
        if stream.uniform() * curve.largest < curve.at(each.time):
            yield each


class Curve(NamedTuple):
    """A step function of time, repeated after its last time."""

    times: list[float]
    values: list[float]

    @property
    def largest(self) -> float:
        return max(self.values)

    @property
    def mean(self) -> float:
        if len(self.times) < 2:
            return self.values[0]
        pieces = zip(self.values, self.times, self.times[1:], strict=False)
        return math.fsum(value * (end - begin) for value, begin, end in pieces) / (self.times[-1] - self.times[0])

    def at(self, time: float) -> float:
        span = self.times[-1]
        if span > 0:
            time %= span
        return self.values[max(0, bisect_right(self.times, time) - 1)]


def _read_curve(file: Path, path: str, problems: Problems) -> Curve | None:
    try:
        times = read_column(file, "time", seconds_of, "")
        values = read_column(file, "factor", number_of, "")
    except ValueError as error:
        problems.add(path, str(error))
        return None
    if times != sorted(times) or min(values) < 0 or max(values) <= 0:
        problems.add(path, f"{file}: times must ascend, and factors be 0 or more and not all 0")
        return None
    return Curve(times, values)


def _bursts(spec: ArrivalsSpec, path: str, problems: Problems, folder: Path) -> Built:
    assert spec.bursts is not None
    interval = time_at(spec.bursts.every, f"{path}.bursts.every", problems, positive=True)
    spread = time_at(spec.bursts.spread, f"{path}.bursts.spread", problems)
    if spec.bursts.size is None:
        required(f"{path}.bursts.size", problems)
    size = quantity(spec.bursts.size or 0, f"{path}.bursts.size", problems, count_of, folder)
    if spread > interval:
        problems.add(f"{path}.bursts.spread", "must not be larger than every")

    def times(stream: RandomStream) -> Iterator[ArrivalTime]:
        for number in _naturals():
            offsets = sorted(spread * stream.uniform() for _ in range(size.draw_count(stream)))
            yield from (ArrivalTime(number * interval + offset) for offset in offsets)

    return times, size.mean / interval, None


def _closed(spec: ArrivalsSpec, path: str, problems: Problems, folder: Path) -> Built:
    assert spec.closed is not None
    object_count(spec.closed.users, f"{path}.closed.users", problems, 1)
    think = quantity(spec.closed.think, f"{path}.closed.think", problems, seconds_of, folder)
    return lambda stream: iter(()), math.nan, ClosedUsers(spec.closed.users, think)


def _file(spec: ArrivalsSpec, path: str, problems: Problems, folder: Path) -> Built:
    file = folder / spec.file
    try:
        times = read_column(file, "time", _Ascending(), "")
        durations = _durations(file, len(times))
    except ValueError as error:
        problems.add(f"{path}.file", str(error))
        return lambda stream: iter(()), 0.0, None
    known = list(map(ArrivalTime, times, durations))
    return lambda stream: iter(known), len(times) / times[-1] if times[-1] else math.nan, None


class _Ascending:
    """A conversion to times, none of which is before the previous one."""

    def __init__(self) -> None:
        self._latest = 0.0

    def __call__(self, value: object) -> float:
        found = length_of(value)
        if found < self._latest:
            raise ValueError(f"{found:g} is before the previous one, {self._latest:g}")
        self._latest = found
        return found


def _durations(file: Path, rows: int) -> list[float | None]:
    """The column with durations: None for an empty one, and for all rows of a file without the column."""
    try:
        found = read_column(file, "duration", lambda value: math.nan if value == "" else length_of(value), "")
    except MissingColumnError:
        return [None] * rows
    return [None if math.isnan(each) else each for each in found]


_BUILDERS: dict[str, Callable[[ArrivalsSpec, str, Problems, Path], Built]] = {
    "at": _at,
    "every": _every,
    "poisson": _poisson,
    "bursts": _bursts,
    "closed": _closed,
    "file": _file,
}
