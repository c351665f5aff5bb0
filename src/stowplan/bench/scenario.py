"""Scenarios: pods, cluster, and required rates."""

from functools import cache
from importlib.resources import files
from typing import Any, Literal

import msgspec
import yaml

from stowplan.api import codec
from stowplan.bench.object_pattern import Vary, overlay
from stowplan.errors import InputError

NAMES = (
    "basic",
    "service",
    "spread",
    "affinity",
    "antiaffinity",
    "templates",
    "unique",
    "unique-rich",
    "preemption",
    "preemption-unique",
    "user-plugin",
    "loop",
    "scaling",
    "memory",
)
"""Every scenario, in the order in which they run; each is a file of that name."""

Kind = Literal["decisions", "loop", "scaling", "memory"]


class _Data(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the structs in scenario files."""


class PodSeries(_Data, frozen=True, kw_only=True):
    """Pods made from one pattern: `templates` different ones in turn (0: every pod another)."""

    pod: dict[str, Any] = {}
    vary: Vary = {}
    templates: int = 1

    def kind_of(self, number: int) -> int:
        return number % self.templates if self.templates else number


class Running(PodSeries, frozen=True, kw_only=True):
    """Pods that run on the nodes at the start."""

    per_node: int


class NodeSeries(_Data, frozen=True, kw_only=True):
    """Changes of the scenario to the nodes that all scenarios share."""

    node: dict[str, Any] = {}
    vary: Vary = {}


class Scenario(_Data, frozen=True, kw_only=True):
    """One file of `scenarios/`."""

    name: str
    about: str
    kind: Kind = "decisions"
    floor: float | None = None
    """Decisions a second that are required with 5,000 nodes where the calibration loop takes one second."""
    max_rss_mib: float | None = None
    max_cost_ratio: float | None = None
    """Maximum ratio of the cost of a decision on the largest of the `nodes` to that on the smallest."""
    min_rate_ratio: float | None = None
    """Minimum ratio to the rate of bare decisions."""
    nodes: tuple[int, ...] = (5000,)
    pods: int
    warm: int = 0
    """Pods that are decided before the measurement, in addition to `pods`."""
    incoming: PodSeries = PodSeries()
    running: Running | None = None
    cluster: NodeSeries = NodeSeries()
    objects: tuple[dict[str, Any], ...] = ()
    """Other API objects, with their `kind`."""
    config: dict[str, Any] = {}
    """KubeSchedulerConfiguration; empty means the defaults."""
    plugin: str = ""
    """A plugin class outside the tree that `config` enables, as `module:Class`."""


@cache
def load_scenario(name: str) -> Scenario:
    """The scenario of that name."""
    if name not in NAMES:
        raise InputError(f"no scenario {name!r}; there are {', '.join(NAMES)}")
    return codec.convert(Scenario, _read(name) | {"name": name})


def load_object(name: str) -> dict[str, Any]:
    """An object that all scenarios start from, with its own `vary`."""
    return _yaml(f"objects/{name}.yaml")


def _read(name: str) -> dict[str, Any]:
    """A scenario's fields, merged into those of the scenario in `like`."""
    own = _yaml(f"scenarios/{name}.yaml")
    like = own.pop("like", None)
    return own if like is None else overlay(_read(like), own)


def _yaml(path: str) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load(files(__package__).joinpath(path).read_text(encoding="utf-8"))
    return data
