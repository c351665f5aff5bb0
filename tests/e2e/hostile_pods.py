"""Pods and claims that the API server accepts and that cost a scheduler far more than an ordinary pod.

Each builder returns the objects to create, claims before their pod. `size` is the number of keys, terms or constraints.
None of the pods can be placed, except for the pods of `annotated` and `many_containers`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tests.e2e.devices import CLAIMS_ARE_SERVED, claim, user

from stowplan.testing import pod
from stowplan.testing.objects import JsonObject

Builder = Callable[[str, str, int], list[JsonObject]]

REGEX = "'{text}'.matches('(((a?){{10}}){{10}}){{10}}$')"
FORMATS = (
    "'%.1000000000f'.format([1.0]) == ''",
    "'%.999999f'.format([1.0]) == ''",
    "'aaaaaaaaaa'.replace('a', 'bbbbbbbbbb').replace('b', 'cccccccccc').replace('c', 'dddddddddd').size() < 1",
)
STORM_PRIORITY_CLASS = "storm"
NUMBER_LABEL = "number"
"""The label of the nodes that has another integer on each."""


def _tiny(name: str, namespace: str, **spec: Any) -> JsonObject:
    return pod(name, namespace, cpu="1m", memory="1Mi", **{"terminationGracePeriodSeconds": 0, **spec})


def _with_claim(name: str, namespace: str, *expressions: str) -> list[JsonObject]:
    selectors = [{"cel": {"expression": expression}} for expression in expressions]
    spec = {"cpu": "1m", "memory": "1Mi", "terminationGracePeriodSeconds": 0}
    return [claim(name, namespace, selectors=selectors), user(name, namespace, **spec)]


def regex_selectors(name: str, namespace: str, size: int) -> list[JsonObject]:
    """A claim of six selectors, each a pattern whose program is large, on 200 characters."""
    texts = (f"{name}-{number}-" + "a" * 200 for number in range(6))
    return _with_claim(name, namespace, *(f"!{REGEX.format(text=text)}" for text in texts))


def format_selectors(name: str, namespace: str, size: int) -> list[JsonObject]:
    """A claim whose selector makes texts of gigabytes if it is evaluated naively."""
    return _with_claim(name, namespace, f"{FORMATS[size % len(FORMATS)]} && '{name}' == ''")


def node_selector(name: str, namespace: str, size: int) -> list[JsonObject]:
    return [_tiny(name, namespace, nodeSelector={f"{name}-{number}": "x" for number in range(size)})]


def node_affinity_terms(name: str, namespace: str, size: int) -> list[JsonObject]:
    operators = ("In", "NotIn", "Exists")
    terms = [
        {"matchExpressions": [_requirement(f"{name}-{number}", operators[number % 2]), _requirement(name, "Exists")]}
        for number in range(size)
    ]
    return [_with_terms(name, namespace, terms)]


def node_affinity_bounds(name: str, namespace: str, size: int) -> list[JsonObject]:
    """Terms that compare the number of every node with a bound that none of them reaches."""
    terms = [
        {"matchExpressions": [{"key": NUMBER_LABEL, "operator": "Gt", "values": [str(10**9 + number)]}]}
        for number in range(size)
    ]
    return [_with_terms(name, namespace, terms)]


def _with_terms(name: str, namespace: str, terms: list[JsonObject]) -> JsonObject:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return _tiny(name, namespace, affinity={"nodeAffinity": required})


def _requirement(key: str, operator: str) -> JsonObject:
    return {"key": key, "operator": operator} | ({} if operator == "Exists" else {"values": ["x", "y"]})


def topology_keys(name: str, namespace: str, size: int) -> list[JsonObject]:
    """Required affinity to a pod that exists nowhere, by many topology keys."""
    terms = [{"labelSelector": {"matchLabels": {"no": "pod"}}, "topologyKey": f"{name}-{n}"} for n in range(size)]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    return [_tiny(name, namespace, affinity={"podAffinity": required, "podAntiAffinity": required})]


def spread_constraints(name: str, namespace: str, size: int) -> list[JsonObject]:
    selector = {"matchLabels": {"app": name}}
    constraint = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    constraints = [{**constraint, "topologyKey": f"{name}-{number}"} for number in range(size)]
    return [_tiny(name, namespace, labels={"app": name}, topologySpreadConstraints=constraints)]


def extended_resources(name: str, namespace: str, size: int) -> list[JsonObject]:
    found = _tiny(name, namespace)
    amounts = {f"example.com/{name}-{number}": "1" for number in range(size)}
    found["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1m", **amounts}, "limits": amounts}
    return [found]


def tolerations(name: str, namespace: str, size: int) -> list[JsonObject]:
    several = [{"key": f"{name}-{number}", "operator": "Exists"} for number in range(size)]
    return [_tiny(name, namespace, tolerations=several, nodeSelector={"no": "node"})]


def annotated(name: str, namespace: str, size: int) -> list[JsonObject]:
    """The largest annotations that are allowed, 256 KiB."""
    found = _tiny(name, namespace)
    found["metadata"]["annotations"] = {"example.com/text": "x" * (255 * 1024)}
    return [found]


def many_containers(name: str, namespace: str, size: int) -> list[JsonObject]:
    """Containers and their host ports."""
    found = _tiny(name, namespace)
    container = found["spec"]["containers"][0]
    found["spec"]["containers"] = [
        {**container, "name": f"c-{number}", "ports": [{"containerPort": 80, "hostPort": 20_000 + number}]}
        for number in range(min(size, 1000))
    ]
    return [found]


def preemptor(name: str, namespace: str, size: int) -> list[JsonObject]:
    """A pod of high priority that fits nowhere, whomever it evicts."""
    spec = {"priorityClassName": STORM_PRIORITY_CLASS, "terminationGracePeriodSeconds": 0}
    return [pod(name, namespace, cpu="1000", memory="1Mi", **spec)]


def repelled_preemptor(name: str, namespace: str, size: int) -> list[JsonObject]:
    """A pod of high priority for which nodes have to be tried without their pods, and which fits nowhere even then.

    It repels pods of equal priority; these are in every zone if `repelling` were created and bound.
    """
    term = {"labelSelector": {"matchLabels": {"repels": "all"}}, "topologyKey": "zone"}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    spec = {"priorityClassName": STORM_PRIORITY_CLASS, "affinity": {"podAntiAffinity": required}}
    return [_tiny(name, namespace, **spec)]


def repelling(namespace: str, zone: str) -> JsonObject:
    spec = {"priorityClassName": STORM_PRIORITY_CLASS, "nodeSelector": {"zone": zone}}
    return _tiny(f"repelling-{zone}", namespace, labels={"repels": "all"}, **spec)


_OF_CLAIMS: dict[str, tuple[Builder, int]] = {
    "regex selectors": (regex_selectors, 6),
    "format selectors": (format_selectors, 0),
}
_OF_PODS: dict[str, tuple[Builder, int]] = {
    "node selector": (node_selector, 20_000),
    "node affinity terms": (node_affinity_terms, 4_000),
    "node affinity bounds": (node_affinity_bounds, 8_000),
    "topology keys": (topology_keys, 3_000),
    "spread constraints": (spread_constraints, 5_000),
    "extended resources": (extended_resources, 5_000),
    "tolerations": (tolerations, 10_000),
    "annotations": (annotated, 0),
    "many containers": (many_containers, 1_000),
    "preemptor": (preemptor, 0),
    "repelled preemptor": (repelled_preemptor, 0),
}
BUILDERS = (_OF_CLAIMS if CLAIMS_ARE_SERVED else {}) | _OF_PODS
"""By name, the builder and the size at which a pod is hostile and still accepted."""


def random_pod(rng: random.Random, name: str, namespace: str) -> tuple[str, list[JsonObject]]:
    """A hostile pod of a random kind, with the name of the kind."""
    kind = rng.choice(list(BUILDERS))
    build, size = BUILDERS[kind]
    return kind, build(name, namespace, rng.randint(size // 2, size) if size else rng.randrange(10))
