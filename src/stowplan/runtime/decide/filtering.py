"""Running PreFilter and Filter plugins.

Upstream: pkg/scheduler/framework/runtime/framework.go (RunPreFilterPlugins, RunFilterPluginsWithNominatedPods)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stowplan.framework import Code, CycleState, Mask, NodeInfo, Nodes, Pod, Status
from stowplan.plugins.base import InTreePlugin
from stowplan.runtime.decide.what_if import WhatIf
from stowplan.runtime.points.cycle_error import failed_at

if TYPE_CHECKING:
    from stowplan.runtime.out_of_tree.plugin import OutOfTreePlugin
    from stowplan.runtime.profile.profile import Profile

OutOfTreeAnswers = dict[str, tuple[Nodes, list[tuple[Mask, Status]]]]
"""Statuses of out-of-tree filters by name, with the nodes that they ran for: they run once a cycle."""


class PreFiltered(NamedTuple):
    """The result of all PreFilter plugins."""

    status: Status | None
    """The rejection of the pod, or None."""
    names: frozenset[str] | None
    """The nodes that may be filtered, or None for all."""
    restricting: frozenset[str]
    """The plugins that named nodes."""


NO_OBJECTION = PreFiltered(None, None, frozenset())


def run_pre_filters(plugins: Iterable[InTreePlugin], state: CycleState, pod: Pod, nodes: Nodes) -> PreFiltered:
    """Run PreFilter. After a resolvable rejection the later plugins still run, so that preemption finds their state."""
    rejection: Status | None = None
    names: frozenset[str] | None = None
    restricting: list[str] = []
    for plugin in plugins:
        answer = plugin.pre_filter(state, pod, nodes)
        if answer is None:
            continue
        if isinstance(answer, Status):
            if answer.code == Code.Skip:
                state.skip_filter |= {plugin.name}
            elif answer.code == Code.UnschedulableAndUnresolvable:
                return PreFiltered(answer.with_plugin(plugin.name), None, frozenset())
            elif answer.code == Code.Unschedulable:
                rejection = answer.with_plugin(plugin.name)
            elif answer.code != Code.Success:
                raise failed_at("preFilter", plugin.name, answer.message)
            continue
        restricting.append(plugin.name)
        names = frozenset(answer) if names is None else names & frozenset(answer)
        if not names:
            return PreFiltered(_no_common_node(restricting), names, frozenset(restricting))
    if rejection is None and names is None:
        return NO_OBJECTION
    return PreFiltered(rejection, names, frozenset(restricting))


def _no_common_node(plugins: list[str]) -> Status:
    if len(plugins) == 1:
        text = f"node(s) didn't satisfy plugin {plugins[0]}"
    else:
        text = f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(plugins))}] simultaneously"
    return Status(Code.UnschedulableAndUnresolvable, text)


def absent_status(restricting: Iterable[str]) -> Status:
    """The status of nodes that PreFilter left out."""
    names = " ".join(sorted(restricting))
    return Status(Code.UnschedulableAndUnresolvable, f"node(s) didn't satisfy plugin(s) [{names}]")


def run_filters(plugins: Iterable[InTreePlugin], state: CycleState, pod: Pod, info: NodeInfo) -> Status | None:
    """The first rejection of one node, or None; an error ends the cycle."""
    skipped = state.skip_filter
    for plugin in plugins:
        if plugin.name in skipped:
            continue
        status = plugin.filter(state, pod, info)
        if status is not None and status.code:
            if not status.rejected:
                raise failed_at("filter", plugin.name, status.message)
            return status.with_plugin(plugin.name)
    return None


def passes_filter(plugin: InTreePlugin, state: CycleState, pod: Pod, info: NodeInfo) -> bool:
    """One plugin on one node; an error ends the cycle."""
    status = plugin.filter(state, pod, info)
    if status is None or not status.code:
        return True
    if not status.rejected:
        raise failed_at("filter", plugin.name, status.message)
    return False


def nominated_rivals(profile: Profile, pod: Pod, info: NodeInfo) -> list[Pod]:
    """Other pods nominated to the node, of at least the same priority, which need room there as well."""
    return [
        other
        for other in profile.nominator.on_node(info.name)
        if other.priority >= pod.priority and other.uid != pod.uid
    ]


def filter_node(profile: Profile, state: CycleState, pod: Pod, info: NodeInfo) -> Status | None:
    """All filters on one node, with the nominated pods on it and without them.

    The pod must fit both ways: nominated pods may never arrive, and some filters are satisfied by their presence.
    """
    rivals = nominated_rivals(profile, pod, info)
    if rivals:
        with WhatIf(profile, state, pod) as what_if:
            for rival in rivals:
                what_if.add(rival, info)
            status = run_filters(profile.filters, what_if.state, pod, info)
        if status is not None:
            return status
    return run_filters(profile.filters, state, pod, info)


def passing_nodes(plugin: InTreePlugin, state: CycleState, pod: Pod, nodes: Nodes) -> Mask:
    """The nodes that a plugin does not reject; an error ends the cycle."""
    if type(plugin).passing_nodes is not InTreePlugin.passing_nodes:
        return plugin.passing_nodes(state, pod, nodes)
    passing: Mask | None = None
    for mask, status in plugin.filter_nodes(state, pod, nodes):
        if not status.rejected and mask.any():
            raise failed_at("filter", plugin.name, status.message)
        passing = ~mask if passing is None else passing & ~mask
    return np.ones(len(nodes), dtype=np.bool_) if passing is None else passing


def filter_out_of_tree(
    profile: Profile,
    plugin: OutOfTreePlugin,
    state: CycleState,
    pod: Pod,
    nodes: Nodes,
    open_: Mask,
    answers: OutOfTreeAnswers,
) -> Mask:
    """Run an out-of-tree filter for the open nodes and no others; returns the nodes that stay open."""
    positions = np.flatnonzero(open_)
    filtered = profile.cluster.nodes.subset(nodes.slots_at(positions))
    given = list(plugin.filter_nodes(state, pod, filtered))
    answers[plugin.name] = (filtered, given)
    passing = open_.copy()
    for mask, status in given:
        if not status.rejected and mask.any():
            raise failed_at("filter", plugin.name, status.message)
        passing[positions[mask]] = False
    return passing
