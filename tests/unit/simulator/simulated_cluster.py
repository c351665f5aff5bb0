"""An API server in memory with its controllers, and manifests for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests import builders
from tests.builders import make, typed
from tests.builders.objects import METADATA

from stowplan import api
from stowplan.cache import Cluster
from stowplan.framework import Pod
from stowplan.framework.instructions import Bind
from stowplan.simulator.api_server import ApiServer, ObjectChange
from stowplan.simulator.controllers import Controllers
from stowplan.simulator.faults import Faults
from stowplan.simulator.input.documents import Origin
from stowplan.simulator.load import populate

START = 1_000_000_000
"""2001-09-09T01:46:40Z."""

CONTAINER = {"name": "c", "image": "app:1"}


def workload(kind: str, name: str, **spec: Any) -> Any:
    """A workload of pods labelled app=`name`; `pod` is merged into the spec of its template."""
    outside = {key: spec.pop(key) for key in (*METADATA, "namespace", "status") if key in spec}
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [CONTAINER], **spec.pop("pod", {})},
    }
    return make(kind, name, spec={"selector": {"matchLabels": {"app": name}}, "template": template, **spec}, **outside)


def pod(name: str, on: str = "", **fields: Any) -> Any:
    """A pod as a manifest has it, without a namespace and a uid."""
    return typed(builders.pod(name, on, **{"namespace": "", "uid": "", **fields}))


def node(name: str, cpu: str = "4", **fields: Any) -> Any:
    return typed(builders.node(name, cpu, **fields))


class SimulatedCluster:
    """An API server in memory with its controllers, and a clock that a test moves."""

    def __init__(
        self, *items: Any, grace: float = 0.0, faults: Faults | None = None, preexisting: Iterable[str] = ()
    ) -> None:
        self.now = float(START)
        self.world = ApiServer(lambda: self.now, faults, grace=grace)
        self.controllers = Controllers(self.world)
        self.seen: list[ObjectChange] = []
        self.populate(*items, preexisting=preexisting)

    def populate(self, *items: Any, preexisting: Iterable[str] = ()) -> None:
        objects = [(item, Origin(f"{i}.yaml")) for i, item in enumerate(items)]
        populate(self.world, self.controllers, objects, frozenset(preexisting))
        self.settle()

    def put(self, *items: Any) -> None:
        for item in items:
            self.world.put(self.controllers.admission.admit(item))
        self.settle()

    def settle(self) -> None:
        """Run the controllers until they change nothing more."""
        for _ in range(1000):
            changes = self.world.changes()
            if not changes:
                return
            self.seen += changes
            for change in changes:
                self.controllers.react(change)
        raise AssertionError("the controllers do not come to rest")

    def bind(self, name: str, node_name: str = "n1", namespace: str = "default") -> Any:
        outcome = self.world.execute(Bind(self.scheduled(name, namespace), node_name))
        self.settle()
        return outcome

    def delete(self, name: str, namespace: str = "default") -> None:
        self.world.delete(self.pod(name, namespace))
        self.settle()

    def pod(self, name: str, namespace: str = "default") -> api.Pod:
        found = self.world.get(api.Pod, name, namespace)
        assert found is not None, f"no pod {name}"
        return found

    def scheduled(self, name: str, namespace: str = "default") -> Pod:
        """The pod as instructions carry it."""
        return Cluster().pod(self.pod(name, namespace))

    def names(self, kind: str = "Pod") -> list[str]:
        items: list[Any] = list(self.world.all(api.KINDS[kind].struct))  # type: ignore[type-var]
        return [item.metadata.name for item in items]

    def pods(self) -> list[api.Pod]:
        return list(self.world.all(api.Pod))
