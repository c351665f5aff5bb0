"""Charts as SVG: lines over time with bands over seeds, and distribution functions. No scripts, no external files."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

from stowplan.simulator.scenario.quantities import time_text

_WIDTH, _HEIGHT = 560, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 12, 28, 30
_MAX_POINTS = 400
COLOURS = ("#0b6e8f", "#c58528", "#71579a", "#0f6a3a", "#b93a21", "#546070")


class ChartLine(NamedTuple):
    """A line with an optional band around it."""

    name: str
    times: Sequence[float]
    values: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


def ticks(low: float, high: float, count: int = 4) -> list[float]:
    """Round numbers within the bounds."""
    if not high > low:
        return [low]
    raw = (high - low) / count
    power = 10 ** math.floor(math.log10(raw))
    step = next((factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw), raw)
    first = math.ceil(low / step) * step + 0.0  # not -0
    return [first + number * step for number in range(int((high - first) / step + 1e-9) + 1)]


_TIME_STEPS = (1, 5, 15, 60, 300, 900, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86400, 2 * 86400, 7 * 86400, 30 * 86400)


def _time_ticks(high: float) -> list[float]:
    step = next((each for each in _TIME_STEPS if high / each <= 8), _TIME_STEPS[-1] * math.ceil(high / 2.6e6 / 8 or 1))
    return [number * step for number in range(int(high / step) + 1)]


def number_text(value: float) -> str:
    """The label of a tick."""
    return f"{value:,.0f}" if abs(value) >= 1000 or value == round(value) else f"{value:.4g}"


def chart(title: str, lines: Sequence[ChartLine], *, over_time: bool = True, zero: bool = True) -> str:
    """A chart of lines; the horizontal axis is time."""
    points = [value for line in lines for value in (*line.values, *line.high) if math.isfinite(value)]
    lasts = [line.times[-1] for line in lines if len(line.times)]
    if not points or not lasts:
        return ""
    right = max(lasts) or 1.0
    bottom = 0.0 if zero else min(points)
    top = max(points) if max(points) > bottom else bottom + 1.0
    x = _scale(0.0, right, _LEFT, _WIDTH - _RIGHT)
    y = _scale(bottom, top, _HEIGHT - _BOTTOM, _TOP)
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title, quote=True)}">',
        f'<text class="title" x="{_LEFT}" y="16">{escape(title)}</text>',
    ]
    for tick in ticks(bottom, top):
        parts.append(f'<path class="grid" d="M{_LEFT} {y(tick):.1f}H{_WIDTH - _RIGHT}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{number_text(tick)}</text>')
    for tick in _time_ticks(right) if over_time else ticks(0.0, right):
        label = time_text(tick) if over_time else number_text(tick)
        anchor = "end" if x(tick) > _WIDTH - 2 * _RIGHT - 8 else "middle"
        parts.append(f'<text x="{x(tick):.1f}" y="{_HEIGHT - 10}" text-anchor="{anchor}">{label}</text>')
    for index, line in enumerate(lines):
        colour = COLOURS[index % len(COLOURS)]
        if len(line.low):
            parts.append(f'<path d="{_band(line, x, y)}" fill="{colour}" opacity=".18"/>')
        parts.append(
            f'<path d="{_path(line.times, line.values, x, y)}" fill="none" stroke="{colour}" stroke-width="1.6"/>'
        )
    if len(lines) > 1:
        parts += _legend(lines)
    return "".join([*parts, "</svg>\n"])


def _legend(lines: Sequence[ChartLine]) -> list[str]:
    parts, left = [], _WIDTH - _RIGHT
    for index in range(len(lines) - 1, -1, -1):
        name = lines[index].name
        left -= 7 * len(name) + 22
        parts.append(f'<rect x="{left}" y="7" width="10" height="10" fill="{COLOURS[index % len(COLOURS)]}"/>')
        parts.append(f'<text x="{left + 14}" y="16">{escape(name)}</text>')
    return parts


def _scale(low: float, high: float, first: float, last: float) -> Callable[[float], float]:
    span = (high - low) or 1.0
    return lambda value: first + (value - low) / span * (last - first)


def _thin(count: int) -> range:
    return range(0, count, max(1, count // _MAX_POINTS))


def _path(
    times: Sequence[float], values: Sequence[float], x: Callable[[float], float], y: Callable[[float], float]
) -> str:
    chosen = [index for index in _thin(len(times)) if math.isfinite(values[index])]
    return "M" + "L".join(f"{x(times[index]):.1f} {y(values[index]):.1f}" for index in chosen) if chosen else ""


def _band(line: ChartLine, x: Callable[[float], float], y: Callable[[float], float]) -> str:
    chosen = list(_thin(len(line.times)))
    upper = [f"{x(line.times[index]):.1f} {y(line.high[index]):.1f}" for index in chosen]
    lower = [f"{x(line.times[index]):.1f} {y(line.low[index]):.1f}" for index in reversed(chosen)]
    return "M" + "L".join([*upper, *lower]) + "Z"


def distribution(name: str, values: Sequence[float]) -> ChartLine:
    """The share of values up to each value."""
    ordered = sorted(value for value in values if math.isfinite(value))
    count = len(ordered)
    chosen = sorted({*_thin(count), count - 1}) if count else []
    return ChartLine(name, [ordered[index] for index in chosen], [(index + 1) / count for index in chosen])


def sparkline(values: Sequence[float]) -> str:
    """Values as one line of text."""
    finite = [value for value in values if math.isfinite(value)]
    top = max(finite, default=0.0)
    marks = "▁▂▃▄▅▆▇█"
    return "".join(marks[min(7, int(value / top * 8))] if top > 0 else marks[0] for value in finite)
