"""Refusals of plugins in words: from `Plugin.explain`, or from the status where a plugin explains nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from stowplan.api import amounts
from stowplan.api.selector_words import listed
from stowplan.framework import Code, NodeInfo, Plugin, Pod, Refusal, Status
from stowplan.framework.explanation import EXPLANATION_FAILED
from stowplan.runtime.decide.filtering import nominated_rivals
from stowplan.runtime.decide.what_if import WhatIf

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
    if plugin is None:
        return _complete([], statuses, name)
    if (info.slot, name) in matrix.beside_nominated:
        return _beside_nominated_pods(matrix, plugin, info, statuses)
    return _complete(list(plugin.explain(matrix.state, matrix.pod, info)), statuses, name)


def _beside_nominated_pods(
    matrix: FilterMatrix, plugin: Plugin, info: NodeInfo, statuses: Sequence[Status]
) -> list[Refusal]:
    """The refusals of a node on which the pod would fit without the pods nominated to it; they are passing."""
    rivals = nominated_rivals(matrix.profile, matrix.pod, info)
    with WhatIf(matrix.profile, matrix.state, matrix.pod) as what_if:
        for other in rivals:
            what_if.add(other, info)
        found = list(plugin.explain(what_if.state, matrix.pod, info))
    keys = [other.key for other in rivals]
    return [
        msgspec.structs.replace(
            refusal,
            lasting=False,
            facts=refusal.facts | {"nominated": keys},
            notes=(*refusal.notes, _kept_for(rivals, refusal, info)),
        )
        for refusal in _complete(found, statuses, plugin.name)
    ]


def _kept_for(rivals: Sequence[Pod], refusal: Refusal, info: NodeInfo) -> str:
    """`2 CPU on node-1 are kept for urgent/x, which is nominated to it.`"""
    resource = refusal.facts.get("resource", "")
    amount = sum(other.template.requests.get(resource, 0) for other in rivals)
    what = f"{amounts.in_words(resource, amount)} on {info.name} are kept" if amount else f"{info.name} is kept"
    nominated = "is nominated to it" if len(rivals) == 1 else "are nominated to it"
    return f"{what} for {listed(other.key for other in rivals)}, which {nominated}."


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
