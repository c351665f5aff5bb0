"""The Pareto plot of a sweep as SVG: two objectives, one point for each variation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from stowplan.errors import InputError
from stowplan.study.plots import FONT_FAMILIES
from stowplan.study.svg import number_text, ticks
from stowplan.study.sweep.document import Study
from stowplan.study.sweep.results import SweepResults, VariationResult

_WIDTH, _HEIGHT, _MARGIN = 640, 420, 64


def check_plottable(study: Study) -> None:
    """Raises InputError for a study with less than two objectives."""
    if len(study.objectives) < 2:
        raise InputError(f"{study.source}: a plot needs two metrics in minimise and maximise")


def pareto_svg(results: SweepResults) -> str:
    """An SVG of the first two objectives, without scripts or outside files. Points of the front are joined
    and named."""
    check_plottable(results.study)
    (x, _), (y, _) = results.objectives()[:2]
    points = [each for each in results.by_variation() if x in each.means and y in each.means]
    if not points:
        raise InputError(f"{results.study.source}: no runs to plot")
    across = _Axis([each.means[x] for each in points], _MARGIN, _WIDTH - _MARGIN / 2)
    up = _Axis([each.means[y] for each in points], _HEIGHT - _MARGIN, _MARGIN / 2)
    front = sorted((each for each in points if each.on_front), key=lambda each: each.means[x])
    places = [(each, across.at(each.means[x]), up.at(each.means[y])) for each in front]
    line = " ".join(f"{left:.1f},{top:.1f}" for _, left, top in places)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="{FONT_FAMILIES}" '
        f'font-size="12"><title>{escape(results.study.name)}</title>',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
        f'<path d="M{_MARGIN},{_MARGIN / 2} V{_HEIGHT - _MARGIN} H{_WIDTH - _MARGIN / 2}" fill="none" stroke="#555"/>',
        *_ticks(across, up),
        f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 16}" text-anchor="middle">{escape(x)}</text>',
        f'<text x="16" y="{_HEIGHT / 2}" text-anchor="middle" transform="rotate(-90 16 {_HEIGHT / 2})">'
        f"{escape(y)}</text>",
        f'<polyline points="{line}" fill="none" stroke="#c2410c" stroke-dasharray="4 3"/>',
        *(_point(each, across.at(each.means[x]), up.at(each.means[y])) for each in points),
        *_labels(places),
        "</svg>\n",
    ]
    return "\n".join(parts)


class _Axis:
    """Maps values to positions."""

    def __init__(self, values: list[float], start: float, end: float) -> None:
        low, high = min(values), max(values)
        pad = (high - low) * 0.08 or abs(high) * 0.1 or 1.0
        self.low, self.high = low - pad, high + pad
        self._start, self._end = start, end

    def at(self, value: float) -> float:
        return self._start + (value - self.low) / (self.high - self.low) * (self._end - self._start)


def _ticks(across: _Axis, up: _Axis) -> list[str]:
    below = _HEIGHT - _MARGIN + 18
    return [
        *(
            f'<text x="{across.at(value):.1f}" y="{below}" text-anchor="middle">{number_text(value)}</text>'
            for value in ticks(across.low, across.high, 6)
        ),
        *(
            f'<text x="{_MARGIN - 6}" y="{up.at(value) + 4:.1f}" text-anchor="end">{number_text(value)}</text>'
            for value in ticks(up.low, up.high, 6)
        ),
    ]


def _point(each: VariationResult, x: float, y: float) -> str:
    colour = "#c2410c" if each.on_front else "#94a3b8"
    label = escape(each.variation.label)
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"><title>{label}</title></circle>'


def _labels(places: Iterable[tuple[VariationResult, float, float]]) -> Iterator[str]:
    """The names of points; of equal points the first, with the number of the others. Text ends inside the plot."""
    equal: dict[tuple[float, float], list[str]] = {}
    for each, x, y in places:
        equal.setdefault((x, y), []).append(each.variation.label)
    for (x, y), (label, *others) in equal.items():
        side, anchor = (-7, "end") if x > _WIDTH / 2 else (7, "start")
        text = escape(f"{label} and {len(others)} more" if others else label)
        place = f'x="{x + side:.1f}" y="{y - 7:.1f}" text-anchor="{anchor}"'
        # White below the text, so that the line of the front does not cross letters.
        yield f'<text {place} fill="none" stroke="#fff" stroke-width="4" aria-hidden="true">{text}</text>'
        yield f'<text {place} fill="#333">{text}</text>'
