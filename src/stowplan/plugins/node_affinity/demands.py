"""The requirements of a pod on its node one by one, each with its place in the manifest."""

from __future__ import annotations

from typing import NamedTuple

from stowplan import api
from stowplan import framework as fwk
from stowplan.api.node_selectors import field_matches, term_errors
from stowplan.api.selector_words import requirement_in_words
from stowplan.api.selectors import GT, IN, LT, SelectorRequirement, parse_int64, requirement, requirements_match

REQUIRED_PATH = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution"
SELECTOR_PATH = "/spec/nodeSelector"


class NodeDemand(NamedTuple):
    """One requirement on labels or on the name of the node."""

    requirement: SelectorRequirement
    path: str
    """Its place in the pod; empty for the configuration's own."""
    is_field: bool = False

    @property
    def words(self) -> str:
        return requirement_in_words(self.requirement)

    def met_by(self, node: fwk.NodeInfo) -> bool:
        if self.is_field:
            return field_matches(self.requirement, node.name)
        return requirements_match((self.requirement,), node.labels)

    def there(self, node: fwk.NodeInfo) -> str:
        """What the node has instead."""
        key, operator, _ = self.requirement
        if self.is_field:
            return f"the name {node.name}"
        value = node.labels.get(key)
        if value is None:
            return f"no label {key}"
        note = ", which is not a whole number" if operator in (GT, LT) and parse_int64(value) is None else ""
        return f"{key}={value}{note}"


class NodeAlternative(NamedTuple):
    """A term: demands that must all be met, or the errors for which it matches no node."""

    demands: tuple[NodeDemand, ...]
    errors: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        return ",".join(demand.words for demand in self.demands)


class NodeDemands(NamedTuple):
    """The demands of the nodeSelector, and the alternatives of the required node affinity."""

    selector: tuple[NodeDemand, ...] = ()
    alternatives: tuple[NodeAlternative, ...] | None = None
    """None without required node affinity."""

    @property
    def words(self) -> str:
        """`pool=gpu,zone in (a, b)`; alternatives are joined by `or`."""
        own = ",".join(demand.words for demand in self.selector)
        terms = " or ".join(each.words for each in self.alternatives or () if each.demands and not each.errors)
        return f"{own},({terms})" if own and " or " in terms else ",".join(part for part in (own, terms) if part)

    @property
    def all(self) -> tuple[NodeDemand, ...]:
        return (*self.selector, *(demand for each in self.alternatives or () for demand in each.demands))

    def closest(self, node: fwk.NodeInfo) -> NodeAlternative | None:
        """The valid alternative of which the node misses the fewest demands."""
        valid = [each for each in self.alternatives or () if each.demands and not each.errors]
        return min(valid, key=lambda each: sum(not demand.met_by(node) for demand in each.demands), default=None)

    def unmet(self, node: fwk.NodeInfo) -> list[NodeDemand]:
        """The demands that the node does not meet, of the alternatives those of the closest one."""
        closest = self.closest(node)
        demands = (*self.selector, *(closest.demands if closest is not None else ()))
        return [demand for demand in demands if not demand.met_by(node)]

    @property
    def errors(self) -> list[str]:
        return [error for each in self.alternatives or () for error in each.errors]


def demands_of(spec: api.PodSpec) -> NodeDemands:
    """The demands of a pod."""
    selector = tuple(
        NodeDemand(SelectorRequirement(key, IN, (value,)), f"{SELECTOR_PATH}/{escaped(key)}")
        for key, value in spec.node_selector.items()
    )
    affinity = None if spec.affinity is None else spec.affinity.node_affinity
    required = None if affinity is None else affinity.required_during_scheduling_ignored_during_execution
    return NodeDemands(selector, None if required is None else alternatives_of(required))


def alternatives_of(selector: api.NodeSelector) -> tuple[NodeAlternative, ...]:
    return tuple(_alternative(number, term) for number, term in enumerate(selector.node_selector_terms))


def escaped(key: str) -> str:
    """A key as a part of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def _alternative(number: int, term: api.NodeSelectorTerm) -> NodeAlternative:
    path = f"{REQUIRED_PATH}/nodeSelectorTerms/{number}"
    labels = [
        NodeDemand(requirement(each.key, each.operator, each.values), f"{path}/matchExpressions/{position}")
        for position, each in enumerate(term.match_expressions)
    ]
    fields = [
        NodeDemand(requirement(each.key, each.operator, each.values), f"{path}/matchFields/{position}", is_field=True)
        for position, each in enumerate(term.match_fields)
    ]
    return NodeAlternative((*labels, *fields), tuple(term_errors(term, f"nodeSelectorTerms[{number}]")))
