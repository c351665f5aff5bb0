"""Workloads: pods, cluster, and required ratios to the peers."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
import yaml

from stowplan.api import codec
from stowplan.bench.object_pattern import overlay
from stowplan.bench.scenario import NodeSeries, PodSeries, Running, Scenario, load_scenario
from stowplan.errors import InputError

NAMES = (
    "basic",
    "service",
    "spread",
    "affinity",
    "antiaffinity",
    "preemption",
    "preemption-basic",
    "preemption-pvs",
    "preemption-async",
    "devices",
    "startup",
    "gangs",
    "gangs-unschedulable",
)
"""Every workload, in the order in which they run; each is a file of that name."""

UPPER_BOUND, KUBE_SCHEDULER, OURS = "ceiling", "kube-scheduler", "stowplan"
FLOOR = "floor"
"""For latencies: a client that decides nothing and binds each pod as soon as its watch shows it."""
PEERS = (KUBE_SCHEDULER, UPPER_BOUND)
"""The schedulers that Stowplan is compared with."""
EXPLAINED, VIEWED = "explained", "viewed"
VISITED = (EXPLAINED, VIEWED)
"""Stowplan while it explains one pod a second, and with one viewer of its page: peers on request."""

_SHARED = ("incoming", "running", "cluster", "objects")
"""Fields that a workload takes from its scenario."""


class Bars(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Required figures; None for no requirement."""

    per_second: float | None = None
    """Minimum of Stowplan's rate divided by kube-scheduler's,"""
    of_upper_bound: float | None = None
    """or of the rate divided by the upper bound."""
    cpu_us_per_pod: float | None = None
    """Maximum of the CPU time per pod divided by kube-scheduler's."""
    rss_mib: float | None = None
    """Maximum of the resident memory divided by kube-scheduler's."""
    first_bind_s: float | None = None
    """Maximum seconds from the start of the process to the first bound pod."""
    idle_cpu_share: float | None = None
    """Maximum CPU time per second after the last write."""
    unschedulable_attempts: float | None = None
    """Maximum of the number of unschedulable attempts divided by kube-scheduler's."""
    victims: float | None = None
    """Maximum of the number of victims divided by kube-scheduler's."""


class Arriving(PodSeries, frozen=True, kw_only=True):
    """Pods that are created one by one while the scheduler works, from its first binding on."""

    count: int
    interval_seconds: float


class Beside(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Objects of one pattern that are created before the pending pods, and deleted with them."""

    count: int
    kinds: int = 1
    """Different `$kind`s, which take turns."""
    object: dict[str, Any]
    """`$pods_each` is the number of pending pods divided by `count`."""


class ClusterWorkload(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One file of `workloads/`, on top of the scenario that it names."""

    name: str
    about: str
    nodes: int = 5000
    pods: int
    most_per_node: int | None = None
    """Maximum number of the pods on a node, if the workload limits it."""
    bars: Bars = Bars()
    peers: tuple[str, ...] = PEERS
    incoming: PodSeries = PodSeries()
    arriving: Arriving | None = None
    running: Running | None = None
    cluster: NodeSeries = NodeSeries()
    objects: tuple[dict[str, Any], ...] = ()
    per_node: tuple[dict[str, Any], ...] = ()
    """Patterns of objects that accompany each node, whose name is `$node`,"""
    per_pod: tuple[dict[str, Any], ...] = ()
    """and each pending pod; `$suffix` is the pod's."""
    beside: tuple[Beside, ...] = ()
    gates: tuple[str, ...] = ()
    """Feature gates of the API server and of the schedulers."""
    runtime_config: dict[str, bool] = {}

    @property
    def flags(self) -> tuple[str, ...]:
        """The flag that turns the gates on."""
        gates = ",".join(f"{name}=true" for name in self.gates)
        return (f"--feature-gates={gates}",) if gates else ()


@cache
def load_workload(name: str) -> ClusterWorkload:
    """The workload of that name."""
    if name not in NAMES:
        raise InputError(f"no workload {name!r}; there are {', '.join(NAMES)}")
    own = _read(name)
    scenario = load_scenario(own.pop("scenario"))
    running = own.get("running", {})
    if like := running.pop("like", ""):
        own["running"] = running | codec.builtins(load_scenario(like).incoming)
    return codec.convert(ClusterWorkload, overlay(_shared(scenario), own) | {"name": name})


def _read(name: str) -> dict[str, Any]:
    """A workload's fields, merged into those of the workload in `like`."""
    own: dict[str, Any] = yaml.safe_load(files(__package__).joinpath(f"workloads/{name}.yaml").read_text("utf-8"))
    like = own.pop("like", None)
    return own if like is None else overlay(_read(like), own)


def _shared(scenario: Scenario) -> dict[str, Any]:
    fields: dict[str, Any] = codec.builtins(scenario)
    return {"about": scenario.about} | {name: fields[name] for name in _SHARED if name in fields}
