"""All controllers of the cluster; they react to changes immediately."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from typing import Any

from stowplan import api
from stowplan.simulator.admission import Admission
from stowplan.simulator.api_server import ApiServer, ObjectChange
from stowplan.simulator.claim_controller import ClaimController
from stowplan.simulator.disruption_controller import DisruptionController
from stowplan.simulator.volume_controller import EphemeralVolumeController, VolumeController
from stowplan.simulator.workloads import CONTROLLERS, NotCreated, WorkloadReconciler

Handler = Callable[[ObjectChange], None]


class Controllers:
    """Passes each change to the controllers of its kind; changes must be passed once and in order."""

    def __init__(self, api_server: ApiServer) -> None:
        self.admission = Admission(api_server)
        self._api_server = api_server
        self._workloads = WorkloadReconciler(api_server, self.admission)
        volumes = VolumeController(api_server)
        ephemeral = EphemeralVolumeController(api_server, self.admission)
        claims = ClaimController(api_server)
        disruption = DisruptionController(api_server)
        self._gone_nodes: set[str] = set()
        self._handlers: dict[type, tuple[Handler, ...]] = {
            api.Node: (self._collect_pods, self._workloads.on_node),
            api.Pod: (self._workloads.on_pod, ephemeral.on_pod, claims.on_pod, disruption.on_pod, self._collect_stray),
            api.PersistentVolume: (volumes.on_volume,),
            api.PersistentVolumeClaim: (volumes.on_claim,),
            api.StorageClass: (volumes.on_storage_class,),
            api.PodDisruptionBudget: (disruption.on_budget,),
            api.ResourceClaimTemplate: (claims.on_template,),
            api.PodGroup: (claims.on_group,),
            **dict.fromkeys(CONTROLLERS, (self._workloads.on_workload,)),
        }

    def react(self, change: ObjectChange) -> None:
        """Run the controllers for a change. Changes that a later one has replaced are skipped."""
        item = change.item
        if not change.removed and not self._api_server.is_current(item):
            return
        for handle in self._handlers.get(type(item), ()):
            handle(change)
        if change.removed:
            self._collect_dependents(item)

    def expand(self, owner: Any) -> None:
        """Create the objects that a workload lacks, without a change."""
        self._workloads.expand(owner)

    def create_pod(self, pod: api.Pod) -> None:
        """Create a pod, unless a quota forbids it."""
        self._workloads.create_pod(pod)

    def try_create_pod(self, pod: api.Pod) -> str:
        """Create a pod; returns why the API server refuses it, empty if it does not. Its creator has to remember it."""
        return self._workloads.try_create_pod(pod)

    @property
    def not_created(self) -> list[NotCreated]:
        """Pods that the API server refused to create."""
        return list(self._workloads.not_created.values())

    def keep(self, preexisting: Container[str]) -> None:
        """Keep objects of a snapshot, by uid, as they are: their workloads only replace pods that they lose."""
        self._workloads.preexisting = preexisting

    def notes(self) -> Iterator[str]:
        """Notes for the user on objects that are not created yet."""
        return self._workloads.notes()

    def _collect_pods(self, change: ObjectChange) -> None:
        """Deletes the pods of a deleted node (pod garbage collection)."""
        name = change.item.metadata.name
        if not change.removed:
            self._gone_nodes.discard(name)
            return
        self._gone_nodes.add(name)
        for pod in self._api_server.pods_on(name):
            self._api_server.delete(pod)

    def _collect_stray(self, change: ObjectChange) -> None:
        """Deletes a pod that was bound to a deleted node."""
        if not change.removed and change.item.spec.node_name in self._gone_nodes:
            self._api_server.delete(change.item)

    def _collect_dependents(self, owner: Any) -> None:
        """Deletes the objects that a deleted object controls (garbage collection)."""
        for kind, name in self._api_server.all_dependents(owner.metadata.uid):
            item = self._api_server.get(kind, name, owner.metadata.namespace)
            if item is not None:
                self._api_server.delete(item)
