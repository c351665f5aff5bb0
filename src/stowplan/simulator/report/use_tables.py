"""Tables of the use of nodes, shared by the reports of simulations and by what-if answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stowplan.cache.volumes import ZONE
from stowplan.simulator.report.resources import amount_text, percentage
from stowplan.simulator.report.use import GroupUse, ResourceUse

Table = tuple[list[str], list[list[str]], list[str]]
"""Headings, rows, and the headings of columns with numbers."""

_USE_HEADINGS = ["RESOURCE", "USED", "FREE", "LARGEST HOLE", "FRAGMENTED"]


def resource_table(use: Iterable[ResourceUse]) -> Table:
    """One row for each resource: requested share, free amount, largest hole, fragmentation."""
    return _USE_HEADINGS, [_cells(each) for each in use], _USE_HEADINGS[1:]


def group_table(groups: Sequence[GroupUse]) -> Table:
    """One row for each value of a label and each resource."""
    headings = [label_words(groups[0].label).upper(), "NODES", "PODS", *_USE_HEADINGS]
    rows = []
    for group in groups:
        start = [group.value, f"{group.nodes:,}", f"{group.pods:,}"]
        for use in group.use:
            rows.append([*start, *_cells(use)])
            start = ["", "", ""]
    return headings, rows, ["NODES", "PODS", *_USE_HEADINGS[1:]]


def label_words(label: str) -> str:
    return "zone" if label == ZONE else label


def _cells(use: ResourceUse) -> list[str]:
    free, hole = (amount_text(use.resource, amount) for amount in (use.free, use.largest_hole))
    return [use.resource, percentage(use.requested, use.allocatable), free, hole, f"{100 * use.fragmented:.0f} %"]
