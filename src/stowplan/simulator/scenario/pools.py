"""Node pools: equal nodes, distributed over zones by weight."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from stowplan import api
from stowplan.api import codec
from stowplan.config.errors import Problems
from stowplan.errors import InputError
from stowplan.simulator.scenario.fields import check_object, object_count, required
from stowplan.simulator.scenario.quantities import RandomQuantity, quantity
from stowplan.simulator.scenario.schema import PoolSpec

POOL_LABEL = "simulation.stowplan/pool"
ZONE_LABEL = "topology.kubernetes.io/zone"
_HOSTNAME = "kubernetes.io/hostname"
READY = api.Condition(type="Ready", status="True")


class CompiledPool:
    """A pool that was checked."""

    def __init__(
        self, name: str, count: int, template: api.Node, zones: dict[str, float], price: float, startup: RandomQuantity
    ) -> None:
        self.name = name
        self.count = count
        self.template = template
        self.zones = zones
        self.price = price
        self.startup = startup

    def zone_for(self, present: dict[str, int]) -> str:
        """The zone of the next node, so that numbers of nodes follow the weights."""
        if not self.zones:
            return ""
        return min(self.zones, key=lambda zone: (present.get(zone, 0) + 1) / self.zones[zone])

    def node(self, number: int, zone: str, *, ready: bool = True) -> api.Node:
        """The node of that number."""
        name = f"{self.name}-{number}"
        labels = {**self.template.metadata.labels, _HOSTNAME: name, POOL_LABEL: self.name}
        if zone:
            labels[ZONE_LABEL] = zone
        metadata = api.ObjectMeta(name=name, labels=labels, annotations=self.template.metadata.annotations)
        condition = READY if ready else replace(READY, status="False")
        status = replace(self.template.status, conditions=(condition,))
        return replace(self.template, metadata=metadata, status=status)


def compile_pool(spec: PoolSpec, path: str, problems: Problems, folder: Path) -> CompiledPool:
    """Check a pool; faults are added to `problems`."""
    if not spec.name:
        required(f"{path}.name", problems)
    object_count(spec.count, f"{path}.count", problems)
    if spec.price < 0:
        problems.add(f"{path}.price", "must be 0 or more")
    for zone, weight in spec.zones.items():
        if weight <= 0:
            problems.add(f"{path}.zones.{zone}", "must be greater than 0")
    template = api.Node()
    try:
        template = codec.convert(api.Node, spec.template)
    except InputError as error:
        where, _, problem = str(error).partition(": ")
        problems.add(f"{path}.template{where.removeprefix('$')}", problem)
    else:
        check_object(api.KINDS["Node"], spec.template, template, f"{path}.template", problems)
        if not template.status.allocatable:
            template = replace(template, status=replace(template.status, allocatable=template.status.capacity))
        if not template.status.allocatable:
            problems.required(f"{path}.template.status.allocatable")
    startup = quantity(spec.startup, f"{path}.startup", problems, folder=folder)
    return CompiledPool(spec.name, spec.count, template, dict(spec.zones), spec.price, startup)
