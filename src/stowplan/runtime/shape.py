"""How the plugins of a profile can be run: which answers can be remembered for how long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stowplan.framework import Plugin, implements
from stowplan.runtime.authored import Authored
from stowplan.runtime.parts import Weighted

if TYPE_CHECKING:
    from stowplan.runtime.profile import Profile


class Shape:
    """The profile's plugins sorted by what their answers depend on; made anew when a plugin's scope changes."""

    __slots__ = (
        "cluster_filters",
        "cluster_plugins",
        "constant_pre_filters",
        "constant_pre_scores",
        "cycle_pre_filters",
        "cycle_pre_scores",
        "node_filters",
        "node_scorers",
        "normalized_scorers",
        "other_scorers",
        "plugins",
        "pod_filters",
        "pod_scorers",
        "self_normalizing",
    )

    def __init__(self, profile: Profile) -> None:
        scorers = [Weighted(plugin, weight) for plugin, weight in profile.scorers]
        listed = (*profile.pre_filters, *profile.filters, *profile.pre_scores, *(s.plugin for s in scorers))
        self.plugins = list({plugin.name: plugin for plugin in listed}.values())
        self.cluster_plugins = [p for p in self.plugins if p.scope == "cluster"]
        self.constant_pre_filters = [p for p in profile.pre_filters if p.template_only]
        self.cycle_pre_filters = [p for p in profile.pre_filters if not p.template_only]
        self.constant_pre_scores = [p for p in profile.pre_scores if p.template_only]
        self.cycle_pre_scores = [p for p in profile.pre_scores if not p.template_only]
        self.node_filters = [p for p in profile.filters if p.scope == "node"]
        self.pod_filters = [p for p in profile.filters if p.scope == "node+pods"]
        self.cluster_filters = [p for p in profile.filters if p.scope == "cluster"]
        self.self_normalizing = {s.plugin for s in scorers if implements(type(s.plugin), "normalize_nodes")}
        foldable = [s for s in scorers if s.plugin.scope != "cluster" and not _needs_all_scores(s.plugin)]
        self.node_scorers = [s for s in foldable if s.plugin.scope == "node" and s.plugin.normalize is None]
        self.pod_scorers = [s for s in foldable if s.plugin.scope == "node+pods" and s.plugin.normalize is None]
        self.normalized_scorers = [s for s in foldable if s.plugin.scope == "node" and s.plugin.normalize is not None]
        known = (*self.node_scorers, *self.pod_scorers, *self.normalized_scorers)
        self.other_scorers = [s for s in scorers if s not in known]


def _needs_all_scores(plugin: Plugin) -> bool:
    """Whether scores need more than a node at a time: a normaliser of the plugin's own, or what PreScore found."""
    if isinstance(plugin, Authored):
        return plugin.has_normalize_nodes or plugin.has_normalize_score or plugin.has_pre_score
    return implements(type(plugin), "normalize_nodes")
