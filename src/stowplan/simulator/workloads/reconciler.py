"""Creates the objects that workloads lack when they appear, and whenever they lose a pod."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import Any, NamedTuple

from stowplan import api
from stowplan.cache.stores import key_of
from stowplan.simulator.admission import Admission
from stowplan.simulator.api_server import ApiServer, ObjectChange, controller_of
from stowplan.simulator.custom_workload import kind_of
from stowplan.simulator.pod_status import is_active
from stowplan.simulator.quotas import Quotas
from stowplan.simulator.workloads.daemon_set import DaemonSetController
from stowplan.simulator.workloads.pod_factory import replacement_of
from stowplan.simulator.workloads.table import CONTROLLERS
from stowplan.simulator.workloads.workload_controller import WorkloadController


class NotCreated(NamedTuple):
    """Pods that the API server refused to create."""

    pod: api.Pod
    """The first of them."""
    pods: int
    message: str


class WorkloadReconciler:
    """Runs the controllers of all workload kinds."""

    def __init__(self, api_server: ApiServer, admission: Admission) -> None:
        self._api_server = api_server
        self._admission = admission
        self._quotas = Quotas(api_server)
        self.not_created: dict[str, NotCreated] = {}
        """By uid of the controller, or by key of a pod without one."""
        self.preexisting: Container[str] = ()
        """The uids of nodes and workloads of a snapshot. Pods that such workloads lack are not created, since the
        cluster does not have them either; pods that they lose are replaced."""
        self._controllers: dict[type[Any], WorkloadController] = {
            kind: controller(api_server, admission) for kind, controller in CONTROLLERS.items()
        }

    def expand(self, owner: Any) -> None:
        """Create all objects that a workload lacks now, down to the pods."""
        self._create(self._controllers[type(owner)].lacking(owner))

    def on_workload(self, change: ObjectChange) -> None:
        if change.removed:
            self._controllers[type(change.item)].forget(change.item)
            self.not_created.pop(change.item.metadata.uid, None)
        elif change.item.metadata.uid not in self.preexisting:
            self.expand(change.item)

    def on_pod(self, change: ObjectChange) -> None:
        self._on_pod(change)
        if change.removed and self.not_created:
            self._retry_refused(change.item.metadata.namespace)

    def _on_pod(self, change: ObjectChange) -> None:
        pod: api.Pod = change.item
        if not pod.metadata.owner_references:
            return
        owner = self._api_server.owner_of(pod)
        controller = self._controllers.get(type(owner))
        if controller is None:
            self._replace_of_assumed(change)
            return
        is_preexisting = owner.metadata.uid in self.preexisting
        if change.removed:
            controller.lost(pod, owner)
            if not is_preexisting:
                self.expand(owner)
            elif controller.replaces(pod) and (is_active(pod) or controller.waits_for_deletion):
                keep_name = controller.keeps_pod_names
                self._create([replacement_of(self._api_server, pod, owner.metadata.name, keep_name=keep_name)])
        else:
            controller.saw(pod, owner)
            if not is_preexisting and (not is_active(pod) or (pod.spec.node_name and controller.awaits_start(owner))):
                self.expand(owner)

    def _replace_of_assumed(self, change: ObjectChange) -> None:
        """Recreates a pod whose controller is assumed to exist."""
        owner = controller_of(change.item)
        if change.removed and owner is not None and owner.uid in self._api_server.assumed_owners:
            self._create([replacement_of(self._api_server, change.item, owner.name)])

    def on_node(self, change: ObjectChange) -> None:
        """Creates the daemon pods of a new node, and deletes those of a deleted one."""
        controller, node = self._controllers[api.DaemonSet], change.item
        assert isinstance(controller, DaemonSetController)
        for daemon_set in list(self._api_server.all(api.DaemonSet)):
            if not change.removed:
                uid = daemon_set.metadata.uid
                if uid in self._api_server.assumed_owners or (
                    uid in self.preexisting and node.metadata.uid in self.preexisting
                ):
                    continue
                self._create(controller.lacking(daemon_set, (node,)))
            elif (pod := controller.pod_for(node.metadata.name, daemon_set)) is not None:
                self._api_server.delete(pod)

    def notes(self) -> Iterator[str]:
        """Workloads with fewer pods than they want, and why."""
        for kind, controller in self._controllers.items():
            for owner in self._api_server.all(kind):
                if owner.metadata.uid not in self.preexisting and (why := controller.waiting(owner)):
                    yield f"{kind_of(owner).name} {owner.metadata.namespace}/{owner.metadata.name}: {why}"

    def create_pod(self, pod: api.Pod) -> None:
        """Create a pod without a controller."""
        self._create([pod])

    def try_create_pod(self, pod: api.Pod) -> str:
        """Create a pod without a controller. Returns the message if it is refused, which is not noted here."""
        message = self._exists(pod) or self._quotas.forbids(pod) or ""
        if not message:
            self._api_server.put(pod)
        return message

    def _create(self, items: Iterable[Any]) -> None:
        """Create objects of one owner; after the first pod that is forbidden, its other pods are not tried."""
        refused: NotCreated | None = None
        for item in list(items):
            if not isinstance(item, api.Pod):
                created = self._api_server.put(self._admission.admit(item))
                if type(created) in self._controllers:
                    self.expand(created)
            elif refused is not None:
                refused = refused._replace(pods=refused.pods + 1)
            elif message := self._exists(item) or self._quotas.forbids(item):
                refused = NotCreated(item, 1, message)
            else:
                # Admission runs once for each pod template, not for each pod.
                self._api_server.put(item)
                if self.not_created:
                    self.not_created.pop(_owner_key(item), None)
        if refused is not None:
            self._note_refused(refused)

    def _exists(self, pod: api.Pod) -> str:
        """The API server's message if there is a pod of this name; empty if there is none."""
        metadata = pod.metadata
        if self._api_server.get(api.Pod, metadata.name, metadata.namespace) is None:
            return ""
        return f'pods "{metadata.name}" already exists'

    def _note_refused(self, refused: NotCreated) -> None:
        key = _owner_key(refused.pod)
        earlier = self.not_created.get(key)
        if earlier is not None and isinstance(self._api_server.owner_of(refused.pod), api.DaemonSet):
            refused = refused._replace(pods=refused.pods + earlier.pods)
        self.not_created[key] = refused

    def _retry_refused(self, namespace: str) -> None:
        """A pod is gone, so that others may fit into the quotas of its namespace."""
        for refused in [each for each in self.not_created.values() if each.pod.metadata.namespace == namespace]:
            owner = self._api_server.owner_of(refused.pod)
            if type(owner) in self._controllers:
                self.expand(owner)


def _owner_key(pod: api.Pod) -> str:
    reference = controller_of(pod)
    return key_of(pod.metadata) if reference is None else reference.uid
