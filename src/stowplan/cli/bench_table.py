"""Tables of benchmarks that compare Stowplan with others."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from stowplan.cli.streams import aligned

OURS = "stowplan"


def table(headings: tuple[str, ...], cells: Callable[[Any], tuple[str, ...]], reports: Sequence[Any]) -> list[str]:
    """Reports in aligned columns, one line per extender, followed by the comparison with each bar."""
    rows = [headings]
    for report in reports:
        first = (report.scenario, f"{report.nodes:,}", f"{report.pods:,}")
        for name, figures in ((OURS, report.figures), *report.peers.items()):
            rows.append((*first, name, *cells(figures)))
            first = ("", "", "")
    return [*aligned(rows, left=(0, 3)), *(line for report in reports for line in _verdicts(report))]


def _verdicts(report: Any) -> Iterable[str]:
    for verdict in report.comparisons:
        met = "met" if verdict.met else "MISSED"
        yield f"{report.scenario}: {verdict.bar}: {verdict.measured:.3f}, {met}"
