"""The result of a run: metrics, tables and expectations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stowplan.config.strict_decoding import suggestion
from stowplan.errors import InputError
from stowplan.study.metric_value import MetricValue
from stowplan.study.table import ResultTable


@dataclass(frozen=True)
class CheckedExpectation:
    """An expectation of a scenario, and what was found."""

    text: str
    holds: bool
    found: str
    """The value and the moment."""


@dataclass(frozen=True)
class RunResult:
    """A run of a scenario with one seed. Times are seconds since the scenario's start."""

    scenario: str
    seed: int
    digest: str
    """Names the run: a hash of everything that determines it."""
    start: str
    end: float
    config: str
    values: tuple[MetricValue, ...]
    tables: Mapping[str, ResultTable]
    expectations: tuple[CheckedExpectation, ...] = ()
    decisions: int = 0
    document: Mapping[str, Any] = field(default_factory=dict)
    plugin_bugs: Mapping[str, str] = field(default_factory=dict)
    """The first bug of each plugin that has shown one, by the plugin's name."""
    error: str = ""
    """What ended the run before its horizon; then everything here is as of that moment."""

    @property
    def pods(self) -> ResultTable:
        return self.tables["pods"]

    @property
    def jobs(self) -> ResultTable:
        return self.tables["jobs"]

    @property
    def nodes(self) -> ResultTable:
        return self.tables["nodes"]

    @property
    def series(self) -> ResultTable:
        return self.tables["series"]

    @property
    def events(self) -> ResultTable:
        return self.tables["events"]

    @property
    def summary(self) -> dict[str, float]:
        """Metrics of the whole run by name."""
        return {each.metric: each.value for each in self.values if not each.key}

    def value(self, metric: str, key: str = "") -> float:
        """A metric, possibly of a group such as `workload=batch`. Raises InputError if there is none."""
        for each in self.values:
            if each.metric == metric and each.key == key:
                return each.value
        if key and any(each.metric == metric for each in self.values):
            raise InputError(f"metric {metric}: no values for {key}")
        known = sorted({each.metric for each in self.values})
        raise InputError(f"unknown metric {metric}{suggestion(metric, known)}")

    def of_key(self, key: str) -> Iterator[MetricValue]:
        return (each for each in self.values if each.key == key)

    @property
    def holds(self) -> bool:
        """Whether all expectations hold."""
        return all(each.holds for each in self.expectations)

    def series_of(self, metric: str, key: str = "") -> tuple[list[float], list[float]]:
        """Times and values of a series."""
        times, values = [], []
        for time, name, group, value in self.series.rows():
            if name == metric and group == key:
                times.append(time)
                values.append(math.nan if value is None else value)
        return times, values

    def save(self, folder: str | Path) -> Path:
        """Write the tables and `run.json` into a folder: Parquet with the extra `data`, else csv.gz."""
        from stowplan.study.files import save

        return save(self, Path(folder))

    def plot(self, metric: str, file: str | Path) -> Path:
        """Write the chart of a series, such as `utilisation.cpu`, as SVG, or as PNG with the extra `plots`."""
        from stowplan.study.plots import standalone, write_plot
        from stowplan.study.svg import ChartLine, chart

        times, values = self.series_of(metric)
        if not times:
            raise InputError(f"no series {metric}{suggestion(metric, sorted(set(self.series['metric'].tolist())))}")
        write_plot(standalone(chart(metric, [ChartLine(metric, times, values)])), Path(file))
        return Path(file)

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><td>{escape(each.metric)}</td><td>{each.value:.6g}</td><td>{escape(each.unit)}</td></tr>"
            for each in self.of_key("")
        )
        return f"<h4>{escape(self.scenario)}, seed {self.seed}</h4><table>{rows}</table>"
