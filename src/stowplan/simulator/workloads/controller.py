"""Keeps workloads complete: what they lack is made when they appear, and again whenever a pod of theirs is lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from stowplan import api
from stowplan.simulator.admission import Admission
from stowplan.simulator.pod_status import is_active
from stowplan.simulator.workloads.daemon_set import DaemonSetMaker
from stowplan.simulator.workloads.maker import Maker
from stowplan.simulator.workloads.makers import MAKERS
from stowplan.simulator.world import Change, World


class WorkloadController:
    """All controllers of workloads in one."""

    def __init__(self, world: World, admission: Admission) -> None:
        self._world = world
        self._admission = admission
        self._makers: dict[type[Any], Maker] = {kind: maker(world, admission) for kind, maker in MAKERS.items()}

    def expand(self, owner: Any) -> None:
        """Make all that a workload lacks now, down to the pods."""
        self._make(self._makers[type(owner)].lacking(owner))

    def on_workload(self, change: Change) -> None:
        if not change.removed:
            self.expand(change.item)

    def on_pod(self, change: Change) -> None:
        pod: api.Pod = change.item
        owner = self._world.owner_of(pod)
        maker = self._makers.get(type(owner))
        if maker is None:
            return
        if change.removed:
            maker.lost(pod, owner)
            self.expand(owner)
        else:
            maker.saw(pod, owner)
            if not is_active(pod) or (pod.spec.node_name and maker.awaits_start(owner)):
                self.expand(owner)

    def on_node(self, change: Change) -> None:
        """A node may be one that daemons are to run on; with one that is gone, those that were to run on it go."""
        maker, node = self._makers[api.DaemonSet], change.item
        assert isinstance(maker, DaemonSetMaker)
        for daemon_set in list(self._world.all(api.DaemonSet)):
            if not change.removed:
                self._make(maker.lacking(daemon_set, (node,)))
            elif (pod := maker.pod_for(node.metadata.name, daemon_set)) is not None:
                self._world.delete(pod)

    def notes(self) -> Iterator[str]:
        """Workloads that have fewer pods than they want, and why."""
        for kind, maker in self._makers.items():
            for owner in self._world.all(kind):
                if why := maker.waiting(owner):
                    yield f"{kind.__name__} {owner.metadata.namespace}/{owner.metadata.name}: {why}"

    def _make(self, items: Iterable[Any]) -> None:
        for item in list(items):
            # Specs of pods went through admission once for all of their template.
            made = self._world.put(item if isinstance(item, api.Pod) else self._admission.admit(item))
            if type(made) in self._makers:
                self.expand(made)
