"""Changes to the cluster between two pods, the same on both sides."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.builders import ZONE, Json
from tests.parity.draw import ZONES, Draw
from tests.parity.nodes import taint
from tests.parity.outcome import is_leaving

if TYPE_CHECKING:
    from tests.parity.comparison import Comparison


def change_cluster(comparison: Comparison, draw: Draw) -> None:
    """Change something."""
    if draw.chance(0.35):
        _change_node(comparison, draw)
    else:
        _change_pod(comparison, draw)
    comparison.totals.counts["interludes"] += 1


def _change_pod(comparison: Comparison, draw: Draw) -> None:
    """End a pod that runs, begin to end it, or give it other labels."""
    running = [
        name
        for name, pod in sorted(comparison.theirs.watch.pods().items())
        if pod["spec"].get("nodeName") and not is_leaving(pod)
    ]
    if not running:
        return
    name = draw.choice(running)
    what = draw.choice(("delete", "begin to delete", "relabel"))
    if what == "relabel":
        comparison.relabel(name, draw.labels())
    else:
        gracefully = what == "begin to delete"
        comparison.both(lambda side: side.delete(side.watch.pods()[name], gracefully=gracefully))


def _change_node(comparison: Comparison, draw: Draw) -> None:
    node = draw.choice(comparison.theirs.objects("Node"))
    subresource, change = draw.choice(_NODE_CHANGES)
    patch = change(draw, node)
    comparison.both(lambda side: side.change(node, patch, subresource))
    time.sleep(comparison.settle)


def _resize(draw: Draw, node: Json) -> Json:
    return {"status": {"allocatable": {"cpu": draw.choice(("1", "3", "8")), "memory": draw.choice(("1Gi", "9Gi"))}}}


_NODE_CHANGES: tuple[tuple[str, Callable[[Draw, Json], Json]], ...] = (
    ("", lambda draw, node: {"spec": {"unschedulable": None if node["spec"].get("unschedulable") else True}}),
    ("", lambda draw, node: {"spec": {"taints": None if node["spec"].get("taints") else [taint(draw)]}}),
    ("", lambda draw, node: {"metadata": {"labels": {ZONE: draw.choice((*ZONES, None))}}}),
    ("", lambda draw, node: {"metadata": {"labels": {"disk": draw.choice(("ssd", "hdd", None))}}}),
    ("status", _resize),
)
"""With the subresource that they go to."""
