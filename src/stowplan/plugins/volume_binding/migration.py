"""CSI migration: the node affinity of in-tree volumes, translated to the labels of the CSI driver.

Upstream: k8s.io/csi-translation-lib/translate.go
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from stowplan import api
from stowplan import framework as fwk
from stowplan.cache import Cluster
from stowplan.cache.volumes import (
    BETA_REGION,
    BETA_ZONE,
    MIGRATED_PLUGINS,
    REGION,
    ZONE,
    ZONE_DELIMITER,
    Migration,
    csi_handle_of,
)


def migrated_plugins(csi_node: api.CSINode | None) -> str:
    """The in-tree plugins that the node migrated, comma separated (annotation migrated-plugins)."""
    return "" if csi_node is None else csi_node.metadata.annotations.get(MIGRATED_PLUGINS, "")


class MigratedNodes:
    """The nodes that migrated an in-tree plugin, as one mask by slot for each plugin."""

    def __init__(self, cluster: Cluster) -> None:
        self._nodes = cluster.nodes
        self._csi_nodes = cluster.stores.of(api.CSINode)
        self._masks: dict[str, fwk.Mask] = {}
        self._version: tuple[int, int] | None = None

    def mask(self, plugin: str) -> fwk.Mask:
        """By slot: whether the node migrated the plugin."""
        version = self._csi_nodes.version, self._nodes.membership
        if self._version != version:
            self._version = version
            self._masks.clear()
        mask = self._masks.get(plugin)
        if mask is None:
            mask = self._masks[plugin] = np.zeros(self._nodes.capacity, dtype=np.bool_)
            names = (c.metadata.name for c in self._csi_nodes if plugin in migrated_plugins(c).split(","))
            mask[[slot for name in names if (slot := self._nodes.slot_of.get(name)) is not None]] = True
        return mask


def translate_affinity(volume: api.PersistentVolume, migration: Migration) -> api.NodeSelector | None:
    """The affinity of an in-tree volume with the labels of its CSI driver.

    Raises TranslationError where the volume has no CSI equivalent.
    """
    csi_handle_of(volume)
    affinity = volume.spec.node_affinity
    required = None if affinity is None else affinity.required
    if not migration.topology_key:
        return required
    terms = () if required is None else required.node_selector_terms
    beta = _uses_beta_labels(volume, terms)
    zone = BETA_ZONE if beta else ZONE
    if any(e.key == zone and e.values for term in terms for e in term.match_expressions):
        terms = _rename(terms, zone, migration.topology_key)
    elif zones := {z.strip() for z in volume.metadata.labels.get(zone, "").split(ZONE_DELIMITER)} - {""}:
        terms = _demand(terms, migration.topology_key, tuple(sorted(zones)))
    if beta and any(e.key == BETA_REGION and e.values for term in terms for e in term.match_expressions):
        terms = _rename(terms, BETA_REGION, REGION)
    return api.NodeSelector(node_selector_terms=terms) if required is not None or terms else None


def _uses_beta_labels(volume: api.PersistentVolume, terms: tuple[api.NodeSelectorTerm, ...]) -> bool:
    """Whether the beta zone label is used. The affinity is checked before the volume's labels, the GA label first."""
    for keys in ({e.key for term in terms for e in term.match_expressions}, volume.metadata.labels):
        if ZONE in keys or BETA_ZONE in keys:
            return ZONE not in keys
    return False


def _rename(terms: tuple[api.NodeSelectorTerm, ...], old: str, new: str) -> tuple[api.NodeSelectorTerm, ...]:
    return tuple(
        replace(
            term,
            match_expressions=tuple(replace(e, key=new) if e.key == old else e for e in term.match_expressions),
        )
        for term in terms
    )


def _demand(
    terms: tuple[api.NodeSelectorTerm, ...], key: str, values: tuple[str, ...]
) -> tuple[api.NodeSelectorTerm, ...]:
    """Add a requirement to every term; without terms, it becomes the only one."""
    expression = api.NodeSelectorRequirement(key=key, operator="In", values=values)
    return tuple(
        replace(term, match_expressions=(*term.match_expressions, expression))
        for term in terms or (api.NodeSelectorTerm(),)
    )
