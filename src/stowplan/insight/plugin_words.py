"""Refusals of plugins in words: from `Plugin.explain`, or from the status where a plugin explains nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from stowplan.framework import Code, NodeInfo, Refusal, Status
from stowplan.framework.explanation import EXPLANATION_FAILED

if TYPE_CHECKING:
    from stowplan.insight.matrix import FilterMatrix

PLUGIN_REASON = "plugin"
"""The id of a refusal that its plugin does not explain."""

_ABOUT_ONE_NODE = (
    ("node(s) were ", "the node was "),
    ("node(s) had ", "the node has "),
    ("node(s) have ", "the node has "),
    ("node(s) didn't ", "the node does not "),
)


def refusals(matrix: FilterMatrix, name: str, info: NodeInfo, statuses: Sequence[Status]) -> list[Refusal]:
    """The refusals of one node by one plugin."""
    plugin = matrix.plugin(name)
    found = list(plugin.explain(matrix.state, matrix.pod, info)) if plugin is not None else []
    return _complete(found, statuses, name)


def pod_refusals(matrix: FilterMatrix, status: Status) -> list[Refusal]:
    """The refusals of the pod as a whole by the PreFilter plugin that the status names."""
    plugin = next((each for each in matrix.profile.pre_filters if each.name == status.plugin), None)
    found = list(plugin.explain_pod(matrix.state, matrix.pod, status)) if plugin is not None else []
    return _complete(found, [status], status.plugin)


def _complete(found: list[Refusal], statuses: Sequence[Status], name: str) -> list[Refusal]:
    """The statuses in words where the plugin explains nothing, with the error of a plugin that failed to explain."""
    errors = tuple(refusal.text for refusal in found if refusal.id == EXPLANATION_FAILED)
    if not found or errors:
        found = [from_status(status) for status in statuses]
    return [msgspec.structs.replace(each, plugin=name, notes=(*each.notes, *errors)) for each in found]


def from_status(status: Status) -> Refusal:
    """A status in words: its own, about one node."""
    return Refusal(
        id=PLUGIN_REASON,
        plugin=status.plugin,
        text=about_one_node(status.message),
        there=status.message,
        lasting=status.code == Code.UnschedulableAndUnresolvable,
    )


def about_one_node(message: str) -> str:
    for plural, singular in _ABOUT_ONE_NODE:
        if message.startswith(plural):
            return singular + message.removeprefix(plural)
    return message
