"""Args of removed plugins, converted to args of their successors."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from stowplan.config.args import ARGS, LEAST_ALLOCATED, LIST_DEFAULTING, ResourceSpec, UtilizationShapePoint
from stowplan.config.conversion.casing import fold
from stowplan.config.conversion.notices import Notices
from stowplan.config.conversion.plugin_sets import Modern
from stowplan.config.conversion.plugin_tables import SUCCESSORS
from stowplan.config.errors import Problems
from stowplan.config.strict_decoding import decode_walking
from stowplan.config.types import Strict
from stowplan.framework.points import SCORE

FIT, AFFINITY, SPREAD = "NodeResourcesFit", "NodeAffinity", "PodTopologySpread"
_SYSTEM_CONSTRAINTS = (("kubernetes.io/hostname", 3), ("topology.kubernetes.io/zone", 5))
_MAX_PREFERENCE_WEIGHT = 100

Args: TypeAlias = dict[str, Any]


class ResourcesArgs(Strict, frozen=True, kw_only=True):
    """Args of NodeResourcesLeastAllocated and NodeResourcesMostAllocated."""

    resources: tuple[ResourceSpec, ...] = ()


class RatioArgs(ResourcesArgs, frozen=True, kw_only=True):
    """Args of RequestedToCapacityRatio."""

    shape: tuple[UtilizationShapePoint, ...] = ()


class NodeLabelArgs(Strict, frozen=True, kw_only=True):
    """Args of NodeLabel."""

    present_labels: tuple[str, ...] = ()
    absent_labels: tuple[str, ...] = ()
    present_labels_preference: tuple[str, ...] = ()
    absent_labels_preference: tuple[str, ...] = ()


class ServiceAffinityArgs(Strict, frozen=True, kw_only=True):
    """Args of ServiceAffinity."""

    affinity_labels: tuple[str, ...] = ()
    anti_affinity_labels_preference: tuple[str, ...] = ()


OLD_ARGS: dict[str, type[Strict]] = {
    "NodeResourcesLeastAllocated": ResourcesArgs,
    "NodeResourcesMostAllocated": ResourcesArgs,
    "RequestedToCapacityRatio": RatioArgs,
    "NodeLabel": NodeLabelArgs,
    "ServiceAffinity": ServiceAffinityArgs,
}


class PluginConfigs:
    """The `pluginConfig` of a profile during conversion."""

    def __init__(self, items: Iterable[Mapping[str, Any]], path: str, *, any_case: bool, problems: Problems) -> None:
        self.given: dict[str, Args] = {}
        self._paths: dict[str, str] = {}
        for index, item in enumerate(items):
            name, where = item.get("name", ""), f"{path}[{index}]"
            if name in self.given:
                problems.duplicate(where, name)
            self.given[name] = self._read(name, item.get("args"), f"{where}.args", any_case, problems)
            self._paths[name] = where

    @staticmethod
    def _read(name: str, args: Any, path: str, any_case: bool, problems: Problems) -> Any:
        kind: type[Strict] | None = OLD_ARGS.get(name) or ARGS.get(name)
        if kind is None:
            return args
        plain = {} if args is None else args
        if isinstance(plain, dict):
            plain = {key: value for key, value in plain.items() if key not in ("apiVersion", "kind")}
            plain = fold(plain, kind) if any_case else plain
        decode_walking(plain, kind, path, problems)
        return plain

    def of(self, name: str) -> Args:
        """The args of a plugin for modification, created if missing."""
        return self.given.setdefault(name, {})

    def path(self, name: str) -> str:
        return self._paths.get(name, "$")

    def rendered(self) -> list[dict[str, Any]]:
        """The entries without removed plugins, in their original order where possible."""
        kept: dict[str, Any] = {}
        for name, args in self.given.items():
            today = SUCCESSORS[name].name if name in SUCCESSORS else name
            if today and (name not in SUCCESSORS or today in self.given):
                kept[today] = self.given.get(today, args)
        return [{"name": name} if args is None else {"name": name, "args": args} for name, args in kept.items()]


def modernise(configs: PluginConfigs, modern: Modern, notices: Notices, problems: Problems) -> None:
    """Convert the args for today's plugins."""
    for change in (_scoring, _labels, _spreading):
        change(configs, modern, notices, problems)


def _scoring(configs: PluginConfigs, modern: Modern, notices: Notices, problems: Problems) -> None:
    origin = modern.origins.get(FIT)
    strategy = SUCCESSORS[origin.name].strategy if origin is not None and origin.name in SUCCESSORS else ""
    if origin is None or not strategy:
        return
    given = configs.given.get(origin.name) or {}
    # Weight 0 excluded a resource, today it means 1; only RequestedToCapacityRatio had today's meaning.
    resources = [r for r in given.get("resources", ()) if r.get("weight", 1) or "shape" in given]
    if origin.name == "RequestedToCapacityRatio" and not given.get("shape"):
        problems.required(origin.path, f"args of {origin.name} must have a shape")
    wanted: Args = {"type": strategy}
    if resources:
        wanted["resources"] = resources
    if "shape" in given:
        wanted["requestedToCapacityRatio"] = {"shape": given["shape"]}
    if wanted != {"type": LEAST_ALLOCATED}:
        configs.of(FIT)["scoringStrategy"] = wanted


def _labels(configs: PluginConfigs, modern: Modern, notices: Notices, problems: Problems) -> None:
    given = configs.given.get("NodeLabel")
    if not given:
        return
    required = [{"key": key, "operator": "Exists"} for key in given.get("presentLabels", ())]
    required += [{"key": key, "operator": "DoesNotExist"} for key in given.get("absentLabels", ())]
    preferred = [{"key": key, "operator": "Exists"} for key in given.get("presentLabelsPreference", ())]
    preferred += [{"key": key, "operator": "DoesNotExist"} for key in given.get("absentLabelsPreference", ())]
    affinity: Args = configs.of(AFFINITY).setdefault("addedAffinity", {})
    if required:
        selector = affinity.setdefault("requiredDuringSchedulingIgnoredDuringExecution", {"nodeSelectorTerms": [{}]})
        for term in selector["nodeSelectorTerms"]:  # Terms are alternatives: each needs the labels.
            term["matchExpressions"] = [*term.get("matchExpressions", ()), *required]
    if preferred:
        weight = max(_MAX_PREFERENCE_WEIGHT // len(preferred), 1)
        terms = affinity.setdefault("preferredDuringSchedulingIgnoredDuringExecution", [])
        terms += [{"weight": weight, "preference": {"matchExpressions": [expression]}} for expression in preferred]


def _spreading(configs: PluginConfigs, modern: Modern, notices: Notices, problems: Problems) -> None:
    if SPREAD not in modern.names(SCORE):
        return
    anti = (configs.given.get("ServiceAffinity") or {}).get("antiAffinityLabelsPreference", ())
    own = (configs.given.get(SPREAD) or {}).get("defaultConstraints", ())
    system = _SYSTEM_CONSTRAINTS if modern.spreads_services and not own else ()
    if anti:
        added = [_soft(key, skew) for key, skew in (*system, *((label, 1) for label in anti))]
        configs.of(SPREAD).update(defaultConstraints=[*own, *added], defaultingType=LIST_DEFAULTING)
    elif own:
        configs.of(SPREAD).setdefault("defaultingType", LIST_DEFAULTING)
        if modern.spread_apart:
            text = "these constraints are all that spreads pods which have none: they were spread by service besides"
            notices.add(configs.path(SPREAD), text)
    elif not modern.spreads_services:
        configs.of(SPREAD).update(defaultConstraints=[], defaultingType=LIST_DEFAULTING)


def _soft(key: str, skew: int) -> Args:
    return {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway"}
