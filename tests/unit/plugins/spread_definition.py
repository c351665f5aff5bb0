"""Topology spread constraints by their definition, pod by pod, on the JSON of API objects."""

from __future__ import annotations

import math
from collections.abc import Iterable

from tests.builders import HOSTNAME, Json

SKEWED = "node(s) didn't match pod topology spread constraints"
UNLABELED = f"{SKEWED} (missing required label)"


def matches(selector: Json | None, labels: Json) -> bool:
    if selector is None:
        return False
    return all(labels.get(k) == v for k, v in selector.get("matchLabels", {}).items()) and all(
        (labels.get(e["key"]) in e["values"]) == (e["operator"] == "In") for e in selector.get("matchExpressions", ())
    )


def effective(rule: Json, newcomer: Json) -> Json | None:
    """The selector with matchLabelKeys merged in."""
    selector, labels = rule.get("labelSelector"), newcomer["metadata"]["labels"]
    own = {key: labels[key] for key in rule.get("matchLabelKeys", ()) if key in labels}
    if selector is None or not own:
        return selector
    extra = [{"key": key, "operator": "In", "values": [value]} for key, value in own.items()]
    return {**selector, "matchExpressions": [*selector.get("matchExpressions", ()), *extra]}


def included(rule: Json, newcomer: Json, host: Json) -> bool:
    labels, spec = host["metadata"]["labels"], newcomer["spec"]
    unwanted = any(labels.get(k) != v for k, v in spec.get("nodeSelector", {}).items())
    if unwanted and rule.get("nodeAffinityPolicy", "Honor") == "Honor":
        return False
    if rule.get("nodeTaintsPolicy") == "Honor":
        tolerated = {t["key"] for t in spec.get("tolerations", ())}
        return all(taint["key"] in tolerated for taint in host["spec"].get("taints", ()))
    return True


def counted(rule: Json, newcomer: Json, pods: Iterable[Json], host: str) -> int:
    selector = effective(rule, newcomer)
    if selector is None or not (selector.get("matchLabels") or selector.get("matchExpressions")):
        return 0
    return sum(
        other["spec"]["nodeName"] == host
        and other["metadata"]["namespace"] == newcomer["metadata"]["namespace"]
        and "deletionTimestamp" not in other["metadata"]
        and matches(selector, other["metadata"]["labels"])
        for other in pods
    )


class Definition:
    """What PreFilter would know, with AddPod and RemovePod on top."""

    def __init__(self, newcomer: Json, nodes: list[Json], pods: list[Json]) -> None:
        rules = newcomer["spec"].get("topologySpreadConstraints", ())
        self.rules = [rule for rule in rules if rule["whenUnsatisfiable"] == "DoNotSchedule"]
        self.newcomer = newcomer
        self.sums: list[dict[str, int]] = [{} for _ in self.rules]
        for host in nodes:
            for i, rule in self._counting(host):
                domain = host["metadata"]["labels"][rule["topologyKey"]]
                more = counted(rule, newcomer, pods, host["metadata"]["name"])
                self.sums[i][domain] = self.sums[i].get(domain, 0) + more

    def shift(self, other: Json, host: Json, amount: int) -> None:
        if other["metadata"]["namespace"] != self.newcomer["metadata"]["namespace"]:
            return
        for i, rule in self._counting(host):
            if matches(effective(rule, self.newcomer), other["metadata"]["labels"]):
                self.sums[i][host["metadata"]["labels"][rule["topologyKey"]]] += amount

    def verdict(self, host: Json) -> str:
        for rule, sums in zip(self.rules, self.sums, strict=True):
            domain = host["metadata"]["labels"].get(rule["topologyKey"])
            if domain is None:
                return UNLABELED
            least = min(sums.values()) if len(sums) >= rule.get("minDomains", 1) else 0
            own = matches(effective(rule, self.newcomer), self.newcomer["metadata"]["labels"])
            if sums.get(domain, 0) + own - least > rule["maxSkew"]:
                return SKEWED
        return ""

    def _counting(self, host: Json) -> Iterable[tuple[int, Json]]:
        if all(rule["topologyKey"] in host["metadata"]["labels"] for rule in self.rules):
            yield from ((i, r) for i, r in enumerate(self.rules) if included(r, self.newcomer, host))


def defined_scores(
    newcomer: Json, rules: list[Json], all_keys: bool, nodes: list[Json], pods: list[Json], feasible: list[str]
) -> dict[str, tuple[int, int]]:
    labels = {n["metadata"]["name"]: n["metadata"]["labels"] for n in nodes}
    keys = [rule["topologyKey"] for rule in rules]
    ignored = {name for name in feasible if all_keys and any(key not in labels[name] for key in keys)}
    judged = [name for name in feasible if name not in ignored]
    raw = dict.fromkeys(feasible, 0)
    for name in judged:
        points = 0.0
        for rule, key in zip(rules, keys, strict=True):
            if key not in labels[name]:
                continue
            if key == HOSTNAME:
                size, count = len(judged), counted(rule, newcomer, pods, name)
            else:
                size = len({labels[other].get(key, "") for other in judged})
                count = sum(
                    counted(rule, newcomer, pods, host["metadata"]["name"])
                    for host in nodes
                    if labels[host["metadata"]["name"]].get(key, "") == labels[name][key]
                    and (not all_keys or all(k in host["metadata"]["labels"] for k in keys))
                    and included(rule, newcomer, host)
                )
            points += count * math.log(size + 2) + (rule["maxSkew"] - 1)
        raw[name] = math.floor(points + 0.5)
    least, greatest = min((raw[n] for n in judged), default=0), max((raw[n] for n in judged), default=0)
    final = {n: (100 * (greatest + least - raw[n]) // greatest if greatest else 100) for n in judged}
    return {name: (raw[name], final.get(name, 0)) for name in feasible}
