"""A simulated cluster that runs until nothing moves, and can be copied."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple

from msgspec.structs import replace

from stowplan import api
from stowplan.config import KubeSchedulerConfiguration
from stowplan.runtime import Registry
from stowplan.simulator.api_server import ApiServer, controller_of
from stowplan.simulator.input import Origin
from stowplan.simulator.load import populate
from stowplan.simulator.pod_status import PENDING
from stowplan.simulator.report import RunRecorder, SimulationReport, report_of
from stowplan.simulator.report.recorder import Examine
from stowplan.simulator.simulation import Simulation

_EARLIER_RUN = Origin("earlier run")
_DAEMON_SET = "DaemonSet"
MIRROR_ANNOTATION = "kubernetes.io/config.mirror"


class Setup(NamedTuple):
    """The configuration of a run, with the plugins that it refers to."""

    config: KubeSchedulerConfiguration
    registry: Registry


class ClusterRun:
    """A cluster in memory with the scheduler of one setup."""

    def __init__(self, simulation: Simulation, recorder: RunRecorder, setup: Setup) -> None:
        """`recorder` observes the simulation."""
        self.simulation = simulation
        self.recorder = recorder
        self.setup = setup
        self.on_step: Callable[[], None] = lambda: None
        """Called after every attempt; copies have it too."""
        self.preexisting: set[str] = set()
        """The uids of objects whose pods are as their controllers want them."""

    @property
    def api_server(self) -> ApiServer:
        return self.simulation.api_server

    def rest(self) -> None:
        """Run until nothing moves. From then on controllers replace the pods that they lose, and create no others."""
        self.simulation.run(self.on_step)
        self.preexisting = {item.metadata.uid for item in self.api_server.objects()}
        self.simulation.controllers.keep(self.preexisting)

    def copy(
        self, setup: Setup | None = None, unbound: Collection[str] = (), examine: Examine | None = None
    ) -> ClusterRun:
        """A second run with the same objects; pods in `unbound` (uids) are pending in it, in the order of their age."""
        setup, recorder = setup or self.setup, RunRecorder(examine)
        made = ClusterRun(self.simulation.sibling(*setup, recorder), recorder, setup)
        made.on_step = self.on_step
        recorder.attach(made.api_server)
        items = self.api_server.objects()
        items.sort(key=lambda item: item.metadata.creation_timestamp if isinstance(item, api.Pod) else "")
        items = [_released(item, unbound) for item in items] if unbound else items
        made.preexisting = {item.metadata.uid for item in items}
        populate(
            made.api_server,
            made.simulation.controllers,
            [(item, _EARLIER_RUN) for item in items],
            frozenset(made.preexisting),
            self.api_server.assumed_owners,
        )
        made.simulation.controllers.keep(made.preexisting)
        made.simulation.settle()
        return made

    def change(self, item: Any) -> Any:
        """Replace an object; its controller reconciles it from now on."""
        self.preexisting.discard(item.metadata.uid)
        return self.api_server.put(item)

    def plugin_bugs(self) -> dict[str, str]:
        """The first bug of each plugin that has shown one."""
        return self.simulation.engine.plugin_bugs()

    def report(self) -> SimulationReport:
        return report_of(self.simulation, self.recorder, {})


def is_daemon(pod: api.Pod) -> bool:
    """Whether the pod exists for its node only: a pod of a DaemonSet, or a static pod."""
    owner = controller_of(pod)
    return MIRROR_ANNOTATION in pod.metadata.annotations or (owner is not None and owner.kind in (_DAEMON_SET, "Node"))


def is_static(pod: api.Pod) -> bool:
    owner = controller_of(pod)
    return MIRROR_ANNOTATION in pod.metadata.annotations or (owner is not None and owner.kind == "Node")


def _released(item: Any, unbound: Collection[str]) -> Any:
    """The object as it would be if the pods had not been scheduled."""
    if isinstance(item, api.Pod) and item.metadata.uid in unbound:
        return replace(item, spec=replace(item.spec, node_name=""), status=PENDING)
    if isinstance(item, api.ResourceClaim) and _reserved_only_for(item.status.reserved_for, unbound):
        return replace(item, status=api.ResourceClaimStatus())
    return item


def _reserved_only_for(consumers: Iterable[Any], uids: Collection[str]) -> bool:
    found = [consumer.uid for consumer in consumers]
    return bool(found) and all(uid in uids for uid in found)
