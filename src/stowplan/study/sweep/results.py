"""The results of a sweep: means over seeds by variation, the Pareto front, tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Any, NamedTuple

import msgspec

from stowplan.config.strict_decoding import suggestion
from stowplan.study.sweep.document import Study, Variation
from stowplan.study.sweep.run_task import SweepRow


class VariationResult(NamedTuple):
    """Means and standard deviations over the seeds of one variation."""

    variation: Variation
    seeds: int
    means: Mapping[str, float]
    deviations: Mapping[str, float]
    on_front: bool
    """Whether no other variation is better in one objective and at least as good in all others."""


class SweepResults:
    """Rows in the order of the study's tasks."""

    def __init__(self, study: Study, rows: Sequence[SweepRow]) -> None:
        self.study = study
        self.rows = tuple(rows)

    @property
    def failed(self) -> list[SweepRow]:
        return [row for row in self.rows if row.error]

    def metrics(self) -> list[str]:
        """All metrics, sorted."""
        return sorted({name for row in self.rows for name in row.metrics})

    def by_variation(self) -> list[VariationResult]:
        groups: dict[bytes, list[SweepRow]] = {}
        for row in self.rows:
            groups.setdefault(msgspec.json.encode(row.variation, order="sorted"), []).append(row)
        found = []
        for rows in groups.values():
            complete = [row.metrics for row in rows if not row.error]
            names = set.intersection(*(set(metrics) for metrics in complete)) if complete else set()
            values = {name: [metrics[name] for metrics in complete] for name in sorted(names)}
            means = {name: fmean(each) for name, each in values.items()}
            spread = {name: stdev(each) if len(each) > 1 else 0.0 for name, each in values.items()}
            found.append(VariationResult(Variation(rows[0].variation), len(complete), means, spread, False))
        return self._with_front(found)

    def objectives(self) -> list[tuple[str, int]]:
        """The study's objectives; raises ConfigError for a metric that no run has."""
        known = self.metrics()
        if known:
            self.study.check_objectives(
                lambda name: "" if name in known else f"no run has the metric {name}{suggestion(name, known)}"
            )
        return self.study.objectives

    def _with_front(self, found: list[VariationResult]) -> list[VariationResult]:
        objectives = self.objectives()
        if not objectives:
            return found
        points = [
            None
            if any(name not in each.means for name, _ in objectives)
            else tuple(sign * each.means[name] for name, sign in objectives)
            for each in found
        ]
        return [
            each._replace(on_front=point is not None and not any(_dominates(other, point) for other in points))
            for each, point in zip(found, points, strict=True)
        ]

    def table(self) -> list[tuple[str, ...]]:
        """A heading and one row for each variation; with objectives only those metrics, front first in column one."""
        chosen = [name for name, _ in self.objectives()] or self.metrics()[:6]
        rows: list[tuple[str, ...]] = [("", "variation", "seeds", *chosen)]
        for each in self.by_variation():
            cells = (
                f"{_decimal(each.means[name], 6)} ±{_decimal(each.deviations[name], 2)}" if name in each.means else "-"
                for name in chosen
            )
            rows.append(("*" if each.on_front else "", each.variation.label, str(each.seeds), *cells))
        return rows

    def document(self) -> dict[str, Any]:
        """Everything but times: equal sweeps give equal documents."""
        return {
            "study": self.study.name,
            "runs": [
                {"name": row.name, "variation": row.variation, "seed": row.seed, "metrics": row.metrics}
                | ({"error": row.error} if row.error else {})
                for row in self.rows
            ],
            "front": [dict(each.variation.values) for each in self.by_variation() if each.on_front],
        }


def _decimal(value: float, digits: int) -> str:
    """A number with so many significant digits, and all digits before the point: 304, not 3e+02."""
    return f"{value:,.0f}" if abs(value) >= 10 ** (digits - 1) else f"{value:.{digits}g}"


def _dominates(one: tuple[float, ...] | None, other: tuple[float, ...]) -> bool:
    if one is None or one == other:
        return False
    return all(a <= b for a, b in zip(one, other, strict=True))
