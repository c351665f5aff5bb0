"""A Policy as plugin lists and args, as v1.22 converted it.

Upstream: pkg/scheduler/framework/plugins/legacy_registry.go (v1.22)
"""

from collections.abc import Mapping
from typing import Any

from stowplan.config.conversion.casing import fold
from stowplan.config.conversion.notices import Notices
from stowplan.config.conversion.old_types import Policy
from stowplan.config.conversion.plugin_tables import V1BETA1_DEFAULTS, OldPlugin
from stowplan.config.conversion.policy_tables import (
    ARGUMENTS,
    CHANGED_PREDICATES,
    DEFAULT_SCORES,
    MANDATORY,
    PREDICATES,
    PRIORITIES,
    points_of,
)
from stowplan.config.errors import Problems
from stowplan.config.strict_decoding import decode, suggestion
from stowplan.framework.points import (
    BIND,
    FILTER,
    POST_FILTER,
    PRE_BIND,
    PRE_FILTER,
    PRE_SCORE,
    QUEUE_SORT,
    RESERVE,
    SCORE,
)

_ALWAYS = (QUEUE_SORT, POST_FILTER, BIND)
_FILTERING, _SCORING = (PRE_FILTER, FILTER, RESERVE, PRE_BIND), (PRE_SCORE, SCORE)
_MAX_WEIGHT = (2**63 - 1) // 100


def read_policy(value: Mapping[str, Any], root: str, problems: Problems) -> dict[str, Any]:
    """The validated policy, with the API's spelling of keys. Paths begin with `root`."""
    policy: dict[str, Any] = fold(dict(value), Policy)
    decode(policy, Policy, root, problems)
    return policy


class PolicyPlugins:
    """The plugins of a policy."""

    def __init__(self, policy: Mapping[str, Any], root: str, notices: Notices, problems: Problems) -> None:
        self._root = root
        self._notices = notices
        self._problems = problems
        self.lists: dict[str, tuple[OldPlugin, ...]] = {point: V1BETA1_DEFAULTS[point] for point in _ALWAYS}
        self.args: dict[str, dict[str, Any]] = {}
        """By plugin."""
        predicates, priorities = policy.get("predicates"), policy.get("priorities")
        if predicates is None:
            self.lists |= {point: V1BETA1_DEFAULTS[point] for point in _FILTERING}
        else:
            self._read_predicates(predicates)
        if priorities is None:
            self.lists |= {PRE_SCORE: V1BETA1_DEFAULTS[PRE_SCORE], SCORE: DEFAULT_SCORES}
        else:
            self._read_priorities(priorities)
        if weight := policy.get("hardPodAffinitySymmetricWeight"):
            self.args["InterPodAffinity"] = {"hardPodAffinityWeight": weight}
        if policy.get("alwaysCheckAllPredicates"):
            text = "has no equivalent: the first plugin that rejects a node gives the reason, the others do not run"
            notices.add(f"{root}.alwaysCheckAllPredicates", text)

    def _read_predicates(self, predicates: list[dict[str, Any]]) -> None:
        given = [({"name": name}, "") for name in MANDATORY]
        given += [(predicate, f"{self._root}.predicates[{index}]") for index, predicate in enumerate(predicates)]
        for predicate, path in given:
            name = predicate.get("name", "")
            plugins = self._custom(predicate, path) or PREDICATES.get(name)
            if plugins is None:
                self._problems.add(f"{path}.name", f'unknown predicate "{name}"{suggestion(name, PREDICATES)}')
                continue
            if name in CHANGED_PREDICATES:
                self._notices.add(path, f"{name}: {CHANGED_PREDICATES[name]}")
            for plugin in plugins:
                self._enable(OldPlugin(plugin, 0, path), FILTER)

    def _read_priorities(self, priorities: list[dict[str, Any]]) -> None:
        named = [(priority, f"{self._root}.priorities[{index}]") for index, priority in enumerate(priorities)]
        # Sorted by name: of two priorities with one plugin, releases kept the first one's weight.
        for priority, path in sorted(named, key=lambda item: str(item[0].get("name", ""))):
            name, weight = priority.get("name", ""), priority.get("weight", 0)
            custom = self._custom(priority, path)
            plugin = custom[0] if custom else PRIORITIES.get(name)
            if plugin is None:
                self._problems.add(f"{path}.name", f'unknown priority "{name}"{suggestion(name, PRIORITIES)}')
            elif not isinstance(weight, int) or not 0 < weight < _MAX_WEIGHT:
                self._problems.invalid(f"{path}.weight", weight, "must be a positive weight")
            elif plugin:
                self._enable(OldPlugin(plugin, weight, path), SCORE)
            else:
                self._notices.add(path, f"{name}: made no difference between nodes, and is left out")

    def _enable(self, entry: OldPlugin, phase: str) -> None:
        for point in points_of(entry.name, phase):
            before = self.lists.get(point, ())
            twin = next((other for other in before if other.name == entry.name), None)
            if twin is None:
                self.lists[point] = (*before, entry)
            elif point == SCORE and entry.name in ("NodeLabel", "ServiceAffinity"):
                # Each such priority has a label of its own; the weights add up.
                heavier = twin._replace(weight=twin.weight + entry.weight)
                self.lists[point] = tuple(heavier if other is twin else other for other in before)
            elif point == SCORE and entry.weight != twin.weight:
                text = f"{entry.name} is listed more than once: the weight {twin.weight} of {twin.path} stays"
                self._notices.add(entry.path, text)

    def _custom(self, item: Mapping[str, Any], path: str) -> tuple[str, ...] | None:
        """The plugin of a custom argument, which is added to its args."""
        argument = item.get("argument")
        if not argument:
            return None
        if len(argument) != 1:
            self._problems.invalid(f"{path}.argument", argument, "must have exactly one field")
            return None
        (kind, value), *_ = argument.items()
        plugin = ARGUMENTS[kind]
        args = self.args.setdefault(plugin, {})
        for field, added in _plugin_args(kind, value).items():
            args[field] = [*args.get(field, ()), *added]
        return (plugin,)


def _plugin_args(kind: str, value: Mapping[str, Any]) -> dict[str, list[Any]]:
    labels = value.get("labels") or ([value["label"]] if value.get("label") else [])
    present = bool(value.get("presence"))
    if kind == "serviceAffinity":
        return {"affinityLabels": labels}
    if kind == "serviceAntiAffinity":
        return {"antiAffinityLabelsPreference": labels}
    if kind == "labelsPresence":
        return {"presentLabels" if present else "absentLabels": labels}
    if kind == "labelPreference":
        return {"presentLabelsPreference" if present else "absentLabelsPreference": labels}
    return {field: list(value[field]) for field in ("shape", "resources") if field in value}
