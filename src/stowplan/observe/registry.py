"""A set of metrics, and the text in which Prometheus reads them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from prometheus_client import CollectorRegistry, generate_latest

from stowplan.observe.series import Family, Histogram, Labels, NumberSeries, Reading, Sample, go_float

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"

ALPHA, BETA, STABLE, INTERNAL = "ALPHA", "BETA", "STABLE", "INTERNAL"
"""How far a metric may be relied upon, told at the beginning of its help as Kubernetes does."""


class MetricRegistry:
    """Metrics by name. What libraries and plugins bring along goes into `others`, and is told as well."""

    def __init__(self, disabled: Collection[str] = (), allowed: Mapping[tuple[str, str], Collection[str]] = {}) -> None:
        """`disabled` metrics count, but are not told; `allowed` restricts the values of (metric, label)."""
        self.disabled = frozenset(disabled)
        self.others = CollectorRegistry(auto_describe=True)
        self.stability: dict[str, int] = {}
        """How many metrics there are of each stability."""
        self._allowed = allowed
        self._families: dict[str, Family[NumberSeries] | Family[Histogram]] = {}
        self._before: list[Callable[[], None]] = []
        self.unexpected = NumberSeries()
        """How often a label had a value that is not allowed."""

    def counter(
        self,
        name: str,
        stability: str,
        help_text: str,
        labels: Labels = (),
        read: Callable[[], Reading] | None = None,
    ) -> Family[NumberSeries]:
        """`read` answers at each scrape with a value by label values, from the thread that scrapes."""
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
        family = Family(name, "histogram", f"[{stability}] {help_text}", labels, lambda: Histogram(buckets))
        self._add(family, stability)
        return family

    def before_scrape(self, prepare: Callable[[], None]) -> None:
        """Have something done before each scrape, by the thread that scrapes."""
        self._before.append(prepare)

    def expose(self) -> bytes:
        """All of it as text."""
        for prepare in self._before:
            prepare()
        lines: list[str] = []
        for name in sorted(self._families):
            if name not in self.disabled:
                _write(self._families[name], lines)
        return "".join(lines).encode() + generate_latest(self.others)

    def reset(self) -> None:
        """Begin anew with everything that is counted."""
        for prepare in self._before:
            prepare()
        for family in self._families.values():
            family.reset()

    def _numbers(
        self, kind: str, name: str, stability: str, help_text: str, labels: Labels, read: Callable[[], Reading] | None
    ) -> Family[NumberSeries]:
        family = Family(name, kind, f"[{stability}] {help_text}", labels, NumberSeries, read)
        self._add(family, stability)
        return family

    def _add(self, family: Family[NumberSeries] | Family[Histogram], stability: str) -> None:
        family.allowed = {label: values for (metric, label), values in self._allowed.items() if metric == family.name}
        family.on_unexpected = self.unexpected.add
        self._families[family.name] = family
        self.stability[stability] = self.stability.get(stability, 0) + 1


def _write(family: Family[NumberSeries] | Family[Histogram], lines: list[str]) -> None:
    """A family that has no series yet is not told of."""
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
    """A label's value as it stands in a scrape."""
    escaped = value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
    return f'"{escaped}"'
