"""A set of metrics and its text in Prometheus' exposition format, with Go's number format.

Upstream: k8s.io/component-base/metrics/registry.go
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from prometheus_client import CollectorRegistry, generate_latest

from stowplan.observe.series import Family, Histogram, Labels, NumberSeries, Reading, Sample, go_float

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"

ALPHA, BETA, STABLE, INTERNAL = "ALPHA", "BETA", "STABLE", "INTERNAL"
"""Stability levels, which precede the help text."""


class MetricRegistry:
    """Metrics by name. Collectors of libraries and plugins go into `others` and are exposed too."""

    def __init__(self, disabled: Collection[str] = (), allowed: Mapping[tuple[str, str], Collection[str]] = {}) -> None:
        """`disabled` metrics are counted and not exposed; `allowed` lists the values of (metric, label)."""
        self.disabled = frozenset(disabled)
        self.others = CollectorRegistry(auto_describe=True)
        self.stability: dict[str, int] = {}
        """Number of metrics by stability level."""
        self._allowed = allowed
        self._families: dict[str, Family[NumberSeries] | Family[Histogram]] = {}
        self._before: list[Callable[[], None]] = []
        self.unexpected = NumberSeries()
        """Number of label values that were not allowed."""

    def counter(
        self,
        name: str,
        stability: str,
        help_text: str,
        labels: Labels = (),
        read: Callable[[], Reading] | None = None,
    ) -> Family[NumberSeries]:
        """`read` returns the values by label values at each scrape, on the scraping thread."""
        return self._numbers("counter", name, stability, help_text, labels, read)

    def gauge(
        self,
        name: str,
        stability: str,
        help_text: str,
        labels: Labels = (),
        read: Callable[[], Reading] | None = None,
    ) -> Family[NumberSeries]:
        """`read` as for counters."""
        return self._numbers("gauge", name, stability, help_text, labels, read)

    def histogram(
        self, name: str, stability: str, help_text: str, buckets: tuple[float, ...], labels: Labels = ()
    ) -> Family[Histogram]:
        family = Family(name, "histogram", _with_stability(stability, help_text), labels, lambda: Histogram(buckets))
        self._add(family, stability)
        return family

    def before_scrape(self, prepare: Callable[[], None]) -> None:
        """Call a function before each scrape, on the scraping thread."""
        self._before.append(prepare)

    def prepare(self) -> None:
        """Bring all metrics up to date, for a reader that does not scrape them."""
        for prepare in self._before:
            prepare()

    def expose(self) -> bytes:
        """All metrics as text."""
        self.prepare()
        lines: list[str] = []
        for name in sorted(self._families):
            if name not in self.disabled:
                _write(self._families[name], lines)
        return "".join(lines).encode() + generate_latest(self.others)

    def reset(self) -> None:
        """Zero all counters and histograms."""
        self.prepare()
        for family in self._families.values():
            family.reset()

    def _numbers(
        self, kind: str, name: str, stability: str, help_text: str, labels: Labels, read: Callable[[], Reading] | None
    ) -> Family[NumberSeries]:
        family = Family(name, kind, _with_stability(stability, help_text), labels, NumberSeries, read)
        self._add(family, stability)
        return family

    def _add(self, family: Family[NumberSeries] | Family[Histogram], stability: str) -> None:
        family.allowed = {label: values for (metric, label), values in self._allowed.items() if metric == family.name}
        family.on_unexpected = self.unexpected.add
        self._families[family.name] = family
        self.stability[stability] = self.stability.get(stability, 0) + 1


def _with_stability(stability: str, help_text: str) -> str:
    return f"[{stability}] {help_text}" if stability else help_text


def _write(family: Family[NumberSeries] | Family[Histogram], lines: list[str]) -> None:
    """A family without series is left out."""
    name = family.name
    samples = [f"{name}{_labelled(sample)} {go_float(sample.value)}\n" for sample in family.samples()]
    if samples:
        lines.append(f"# HELP {name} {family.help_text}\n# TYPE {name} {family.kind}\n")
        lines += samples


def _labelled(sample: Sample) -> str:
    if not sample.labels:
        return sample.suffix
    return f"{sample.suffix}{{{','.join(f'{name}={quoted(value)}' for name, value in sample.labels.items())}}}"


def quoted(value: str) -> str:
    """A label value, escaped."""
    escaped = value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
    return f'"{escaped}"'
