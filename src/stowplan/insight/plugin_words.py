"""Refusals of plugins in words: from `Plugin.explain`, or from the status where a plugin explains nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from stowplan.framework import Code, NodeInfo, Refusal, Status

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
    if not found:
        found = [from_status(status) for status in statuses]
    return [msgspec.structs.replace(refusal, plugin=name) for refusal in found]


def pod_refusals(matrix: FilterMatrix, status: Status) -> list[Refusal]:
    """The refusals of the pod as a whole by the PreFilter plugin that the status names."""
    plugin = next((each for each in matrix.profile.pre_filters if each.name == status.plugin), None)
    found = list(plugin.explain_pod(matrix.state, matrix.pod, status)) if plugin is not None else []
    if not found:
        found = [from_status(status)]
    return [msgspec.structs.replace(refusal, plugin=status.plugin) for refusal in found]


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
