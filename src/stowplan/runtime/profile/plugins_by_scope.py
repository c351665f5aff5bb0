"""The plugins of a profile, sorted by what their answers depend on and so by how long they can be kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from stowplan.framework import PodTemplate, implements
from stowplan.plugins.base import InTreePlugin
from stowplan.runtime.decide.scoring import Summed, Weighted
from stowplan.runtime.decide.shared_answers import NodePlugins
from stowplan.runtime.out_of_tree.plugin import OutOfTreePlugin

if TYPE_CHECKING:
    from stowplan.runtime.profile.profile import Profile


class PluginsByScope:
    """The profile's plugins sorted by scope; built again when a plugin's scope changes.

    `of` leaves out the plugins that do not concern pods of a template.
    """

    __slots__ = (
        "_choosy",
        "_narrowed",
        "_profile",
        "cluster_filters",
        "cluster_plugins",
        "constant_pre_filters",
        "constant_pre_scores",
        "cycle_pre_filters",
        "cycle_pre_scores",
        "in_tree_node_plugins",
        "node_filters",
        "node_plugins",
        "node_scorers",
        "normalized_scorers",
        "other_scorers",
        "out_of_tree_node_filters",
        "pod_filters",
        "pod_scorer_names",
        "pod_scorers",
        "pod_scores",
        "pre_filters",
        "scorers",
        "self_normalizing",
        "unconcerned",
        "unshared_scorers",
    )

    def __init__(self, profile: Profile, unconcerned: frozenset[str] = frozenset()) -> None:
        self._profile = profile
        self.unconcerned = unconcerned
        """Names of the profile's plugins that are left out."""
        self.scorers = scorers = [Weighted(p, weight) for p, weight in profile.scorers if p.name not in unconcerned]
        self.pre_filters = _without(unconcerned, profile.pre_filters)
        filters, pre_scores = _without(unconcerned, profile.filters), _without(unconcerned, profile.pre_scores)
        listed = (*self.pre_filters, *filters, *pre_scores, *(s.plugin for s in scorers))
        plugins = list({plugin.name: plugin for plugin in listed}.values())
        self._choosy = [p for p in plugins if implements(type(p), "concerns")]
        self._narrowed: dict[tuple[bool, ...], PluginsByScope] = {}
        self.cluster_plugins = [p for p in plugins if p.scope == "cluster"]
        self.constant_pre_filters = [p for p in self.pre_filters if p.template_only]
        self.cycle_pre_filters = [p for p in self.pre_filters if not p.template_only]
        self.constant_pre_scores = [p for p in pre_scores if p.template_only]
        self.cycle_pre_scores = [p for p in pre_scores if not p.template_only]
        self.node_filters = [p for p in filters if p.scope == "node"]
        self.pod_filters = [p for p in filters if p.scope == "node+pods"]
        self.cluster_filters = [p for p in filters if p.scope == "cluster"]
        self.self_normalizing = {s.plugin for s in scorers if implements(type(s.plugin), "normalize_nodes")}
        foldable = [s for s in scorers if s.plugin.scope != "cluster" and not _needs_all_scores(s.plugin)]
        self.node_scorers = [s for s in foldable if s.plugin.scope == "node" and s.plugin.normalize is None]
        self.pod_scorers = [s for s in foldable if s.plugin.scope == "node+pods" and s.plugin.normalize is None]
        self.pod_scorer_names = frozenset(s.plugin.name for s in self.pod_scorers)
        self.pod_scores = Summed(self.pod_scorers)
        self.normalized_scorers = [s for s in foldable if s.plugin.scope == "node" and s.plugin.normalize is not None]
        known = (*self.node_scorers, *self.pod_scorers, *self.normalized_scorers)
        self.other_scorers = [s for s in scorers if s not in known]
        self._share_answers()

    def _share_answers(self) -> None:
        """Divide the plugins of node scope into those whose answers templates share and out-of-tree plugins, which are
        called for no more nodes than necessary."""
        by_node = (*self.node_scorers, *self.normalized_scorers)
        self.node_plugins = NodePlugins(self.node_filters, self.node_scorers, self.normalized_scorers)
        """The plugins of node scope."""
        foreign = frozenset(p.name for p in self.node_plugins.plugins if isinstance(p, OutOfTreePlugin))
        self.in_tree_node_plugins = self.node_plugins.without(foreign, foreign)
        self.out_of_tree_node_filters = [p for p in self.node_filters if p.name in foreign]
        self.unshared_scorers = [s for s in by_node if s.plugin.name in foreign] + self.other_scorers
        """The scorers that are neither part of `in_tree_node_plugins` nor of scope node+pods."""

    def of(self, template: PodTemplate) -> PluginsByScope:
        """The same without the plugins that do not concern pods of the template."""
        concerned = tuple([plugin.concerns(template) for plugin in self._choosy])
        narrowed = self._narrowed.get(concerned)
        if narrowed is None:
            answers = zip(self._choosy, concerned, strict=True)
            unconcerned = frozenset(plugin.name for plugin, concerns in answers if not concerns)
            narrowed = self._narrowed[concerned] = PluginsByScope(self._profile, unconcerned)
        return narrowed


def _without(names: frozenset[str], plugins: Iterable[InTreePlugin]) -> list[InTreePlugin]:
    return [plugin for plugin in plugins if plugin.name not in names]


def _needs_all_scores(plugin: InTreePlugin) -> bool:
    """Whether the scores of one node depend on other nodes: through the plugin's own normalisation, or through
    PreScore."""
    if isinstance(plugin, OutOfTreePlugin):
        return plugin.has_normalize_nodes or plugin.has_normalize_score or plugin.has_pre_score
    return implements(type(plugin), "normalize_nodes")
