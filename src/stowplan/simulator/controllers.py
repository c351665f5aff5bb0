"""The cluster's controllers: what they do in answer to changes, at once."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from typing import Any

from stowplan import api
from stowplan.simulator.admission import Admission
from stowplan.simulator.api_server import ApiServer, Change
from stowplan.simulator.claim_controller import ClaimController
from stowplan.simulator.disruption_controller import DisruptionController
from stowplan.simulator.volume_controller import EphemeralVolumeController, VolumeController
from stowplan.simulator.workloads import CONTROLLERS, WorkloadReconciler

Reaction = Callable[[Change], None]


class Controllers:
    """Reacts to the changes of a world, each of which is to be told once and in order."""

    def __init__(self, api_server: ApiServer) -> None:
        self.admission = Admission(api_server)
        self._api_server = api_server
        self._workloads = WorkloadReconciler(api_server, self.admission)
        volumes = VolumeController(api_server)
        ephemeral = EphemeralVolumeController(api_server, self.admission)
        claims = ClaimController(api_server)
        disruption = DisruptionController(api_server)
        self._gone_nodes: set[str] = set()
        self._reactions: dict[type, tuple[Reaction, ...]] = {
            api.Node: (self._collect_pods, self._workloads.on_node),
            api.Pod: (self._workloads.on_pod, ephemeral.on_pod, claims.on_pod, disruption.on_pod, self._collect_stray),
            api.PersistentVolume: (volumes.on_volume,),
            api.PersistentVolumeClaim: (volumes.on_claim,),
            api.StorageClass: (volumes.on_storage_class,),
            api.PodDisruptionBudget: (disruption.on_budget,),
            api.ResourceClaimTemplate: (claims.on_template,),
            **dict.fromkeys(CONTROLLERS, (self._workloads.on_workload,)),
        }

    def react(self, change: Change) -> None:
        """Do what the controllers would do. They act on objects as they are now: what is outdated is passed over."""
        item = change.item
        if (
            not change.removed
            and self._api_server.get(type(item), item.metadata.name, item.metadata.namespace) is not item
        ):
            return
        for react in self._reactions.get(type(item), ()):
            react(change)
        if change.removed:
            self._collect_dependents(item)

    def expand(self, owner: Any) -> None:
        """Make what a workload lacks without waiting for the change to be told."""
        self._workloads.expand(owner)

    def content(self, standing: Container[str]) -> None:
        """Take objects, by uid, to be as they are meant to be: workloads make no more than what they lose."""
        self._workloads.standing = standing

    def notes(self) -> Iterator[str]:
        """What is worth knowing about objects that are not made yet."""
        return self._workloads.notes()

    def _collect_pods(self, change: Change) -> None:
        """Pods do not outlive their node."""
        name = change.item.metadata.name
        if not change.removed:
            self._gone_nodes.discard(name)
            return
        self._gone_nodes.add(name)
        for pod in [pod for pod in self._api_server.all(api.Pod) if pod.spec.node_name == name]:
            self._api_server.delete(pod)

    def _collect_stray(self, change: Change) -> None:
        """A pod may be bound to a node that has just gone."""
        if not change.removed and change.item.spec.node_name in self._gone_nodes:
            self._api_server.delete(change.item)

    def _collect_dependents(self, owner: Any) -> None:
        """What an object controls goes with it."""
        for kind, name in self._api_server.all_dependents(owner.metadata.uid):
            item = self._api_server.get(kind, name, owner.metadata.namespace)
            if item is not None:
                self._api_server.delete(item)
