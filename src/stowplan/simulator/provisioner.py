"""Dynamic provisioning: volumes for claims, as a CSI driver creates them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stowplan import api
from stowplan.api.selectors import IN
from stowplan.cache.volumes import MIGRATION_OF_PLUGIN, SELECTED_NODE, storage_class_of
from stowplan.plugins.volume_binding.provisioning import NO_PROVISIONER
from stowplan.simulator.api_server import ApiServer
from stowplan.simulator.identity import make_uid

PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"

Topology = dict[str, str]
"""Node labels that a volume requires; without any it is accessible from all nodes."""


class Provisioner:
    """Stands for the provisioners of all storage classes."""

    def __init__(self, api_server: ApiServer) -> None:
        self._api_server = api_server

    def make(self, claim: api.PersistentVolumeClaim) -> api.PersistentVolume | None:
        """A volume for the claim; None if its class has no provisioner, or the selected node does not exist."""
        storage_class = self._api_server.get(api.StorageClass, storage_class_of(claim))
        if storage_class is None or storage_class.provisioner in ("", NO_PROVISIONER):
            return None
        node_name = claim.metadata.annotations.get(SELECTED_NODE)
        node = None if node_name is None else self._api_server.get(api.Node, node_name)
        if node_name is not None and node is None:
            return None
        topology = (
            self._any_topology(storage_class, claim) if node is None else self._topology_of_node(storage_class, node)
        )
        return _volume(claim, storage_class, topology)

    def _topology_of_node(self, storage_class: api.StorageClass, node: api.Node) -> Topology:
        """The topology of a node by the driver's keys, else by those of the class's allowedTopologies."""
        labels = node.metadata.labels
        csi_node = self._api_server.get(api.CSINode, node.metadata.name)
        keys = _topology_keys(csi_node, _driver(storage_class)) or _keys_allowed(storage_class, labels)
        return {key: labels[key] for key in keys if key in labels}

    def _any_topology(self, storage_class: api.StorageClass, claim: api.PersistentVolumeClaim) -> Topology:
        """The first topology that the class allows, else one of the driver's, chosen by the claim's name."""
        for term in storage_class.allowed_topologies:
            return {each.key: each.values[0] for each in term.match_label_expressions if each.values}
        topologies = sorted({tuple(each.items()) for each in self._topologies(storage_class)})
        number = int(make_uid(claim.metadata.namespace, claim.metadata.name)[:8], 16)
        return dict(topologies[number % len(topologies)]) if topologies else {}

    def _topologies(self, storage_class: api.StorageClass) -> Iterator[Topology]:
        for csi_node in self._api_server.all(api.CSINode):
            node = self._api_server.get(api.Node, csi_node.metadata.name)
            if node is not None and _topology_keys(csi_node, _driver(storage_class)):
                yield self._topology_of_node(storage_class, node)


def _driver(storage_class: api.StorageClass) -> str:
    """The CSI driver of a class; in-tree provisioners are migrated to their driver."""
    migration = MIGRATION_OF_PLUGIN.get(storage_class.provisioner)
    return storage_class.provisioner if migration is None else migration.driver


def _topology_keys(csi_node: api.CSINode | None, driver: str) -> tuple[str, ...]:
    drivers = () if csi_node is None else csi_node.spec.drivers
    return next((each.topology_keys for each in drivers if each.name == driver), ())


def _keys_allowed(storage_class: api.StorageClass, labels: dict[str, str]) -> list[str]:
    """The keys of the first allowed topology that the labels match."""
    for term in storage_class.allowed_topologies:
        if all(labels.get(each.key) in each.values for each in term.match_label_expressions):
            return [each.key for each in term.match_label_expressions]
    return []


def _volume(
    claim: api.PersistentVolumeClaim, storage_class: api.StorageClass, topology: Topology
) -> api.PersistentVolume:
    metadata, name = claim.metadata, f"pvc-{claim.metadata.uid}"
    reference = api.ObjectReference(
        api_version="v1",
        kind="PersistentVolumeClaim",
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
    )
    spec: dict[str, Any] = {
        "capacity": dict(claim.spec.resources.requests),
        "access_modes": claim.spec.access_modes,
        "storage_class_name": storage_class.metadata.name,
        "volume_mode": claim.spec.volume_mode,
        "volume_attributes_class_name": claim.spec.volume_attributes_class_name,
        "claim_ref": reference,
        "node_affinity": _affinity(topology) if topology else None,
        "csi": api.CSIPersistentVolumeSource(driver=_driver(storage_class), volume_handle=name),
    }
    return api.PersistentVolume(
        metadata=api.ObjectMeta(name=name, annotations={PROVISIONED_BY: storage_class.provisioner}),
        spec=api.PersistentVolumeSpec(**spec),
    )


def _affinity(topology: Topology) -> api.VolumeNodeAffinity:
    expressions = tuple(
        api.NodeSelectorRequirement(key=key, operator=IN, values=(value,)) for key, value in topology.items()
    )
    term = api.NodeSelectorTerm(match_expressions=expressions)
    return api.VolumeNodeAffinity(required=api.NodeSelector(node_selector_terms=(term,)))
