"""Keeps workloads complete: what they lack is made when they appear, and again whenever a pod of theirs is lost."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import Any

from stowplan import api
from stowplan.simulator.admission import Admission
from stowplan.simulator.api_server import ApiServer, Change
from stowplan.simulator.pod_status import is_active
from stowplan.simulator.workloads.daemon_set import DaemonSetController
from stowplan.simulator.workloads.pod_factory import again
from stowplan.simulator.workloads.table import MAKERS
from stowplan.simulator.workloads.workload_controller import WorkloadController

_PATIENT = (api.DaemonSet, api.StatefulSet)
"""Workloads that replace a pod once it is gone, all others as soon as it is on its way out."""


class WorkloadReconciler:
    """All controllers of workloads in one."""

    def __init__(self, world: ApiServer, admission: Admission) -> None:
        self._world = world
        self._admission = admission
        self.standing: Container[str] = ()
        """The uids of nodes and workloads of a cluster. What such workloads lack, nobody makes there either, but what
        they lose is made anew."""
        self._makers: dict[type[Any], WorkloadController] = {
            kind: maker(world, admission) for kind, maker in MAKERS.items()
        }

    def expand(self, owner: Any) -> None:
        """Make all that a workload lacks now, down to the pods."""
        self._make(self._makers[type(owner)].lacking(owner))

    def on_workload(self, change: Change) -> None:
        if not change.removed and change.item.metadata.uid not in self.standing:
            self.expand(change.item)

    def on_pod(self, change: Change) -> None:
        pod: api.Pod = change.item
        owner = self._world.owner_of(pod)
        maker = self._makers.get(type(owner))
        if maker is None:
            return
        is_standing = owner.metadata.uid in self.standing
        if change.removed:
            maker.lost(pod, owner)
            if not is_standing:
                self.expand(owner)
            elif is_active(pod) or isinstance(owner, _PATIENT):
                self._make([again(self._world, pod, owner)])
        else:
            maker.saw(pod, owner)
            if not is_standing and (not is_active(pod) or (pod.spec.node_name and maker.awaits_start(owner))):
                self.expand(owner)

    def on_node(self, change: Change) -> None:
        """A node may be one that daemons are to run on; with one that is gone, those that were to run on it go."""
        maker, node = self._makers[api.DaemonSet], change.item
        assert isinstance(maker, DaemonSetController)
        for daemon_set in list(self._world.all(api.DaemonSet)):
            if not change.removed:
                if node.metadata.uid in self.standing and daemon_set.metadata.uid in self.standing:
                    continue
                self._make(maker.lacking(daemon_set, (node,)))
            elif (pod := maker.pod_for(node.metadata.name, daemon_set)) is not None:
                self._world.delete(pod)

    def notes(self) -> Iterator[str]:
        """Workloads that have fewer pods than they want, and why."""
        for kind, maker in self._makers.items():
            for owner in self._world.all(kind):
                if owner.metadata.uid not in self.standing and (why := maker.waiting(owner)):
                    yield f"{kind.__name__} {owner.metadata.namespace}/{owner.metadata.name}: {why}"

    def _make(self, items: Iterable[Any]) -> None:
        for item in list(items):
            # Specs of pods went through admission once for all of their template.
            made = self._world.put(item if isinstance(item, api.Pod) else self._admission.admit(item))
            if type(made) in self._makers:
                self.expand(made)
