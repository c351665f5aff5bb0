"""kube-scheduler's side of the protocol, for a chosen release.

Upstream: pkg/scheduler/extender.go
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from stowplan.errors import StowplanError
from stowplan.testing.errors import UnreachableError
from stowplan.testing.extender import go_json
from stowplan.testing.extender.releases import RELEASES, KubeSchedulerRelease
from stowplan.testing.extender.samples import JsonObject
from stowplan.testing.extender.transport import ExtenderConnection, ExtenderExchange

OK = 200


class ExtenderFailedError(StowplanError):
    """A failure, with kube-scheduler's message in the pod's event."""


class SchedulerCrashedError(ExtenderFailedError):
    """A reply that crashes kube-scheduler of that release: a nil pointer, or an index out of range."""


@dataclass(frozen=True)
class FilterOutcome:
    """The result of `filter`."""

    passing: list[str]
    failed: dict[str, str] = field(default_factory=dict)
    unresolvable: dict[str, str] = field(default_factory=dict)
    candidates: frozenset[str] = frozenset()
    """The nodes on which preemption may be tried."""
    ignored: str = ""
    """The error for which the extender, which is ignorable, was ignored."""


@dataclass(frozen=True)
class Priorities:
    """The result of `prioritize`: points added to each node's total. Errors, which kube-scheduler ignores, are kept."""

    scores: dict[str, int]
    error: str = ""


@dataclass(frozen=True)
class VictimsReply:
    """Pods on a node that would be evicted."""

    pods: Sequence[JsonObject]
    violations: int = 0


class KubeSchedulerClient:
    """Calls one extender. The arguments are the fields of its entry in kube-scheduler's configuration."""

    def __init__(
        self,
        release: str | KubeSchedulerRelease,
        url_prefix: str,
        *,
        filter_verb: str = "",
        prioritize_verb: str = "",
        preempt_verb: str = "",
        bind_verb: str = "",
        node_cache_capable: bool = False,
        weight: int = 1,
        ignorable: bool = False,
        http_timeout: float = 5.0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.release = RELEASES[release] if isinstance(release, str) else release
        self.url_prefix = url_prefix
        self.verbs = {"filter": filter_verb, "prioritize": prioritize_verb, "preempt": preempt_verb, "bind": bind_verb}
        self.names_only = node_cache_capable and self.release.sends_names
        self.weight = weight
        self.ignorable = ignorable
        self.wire = ExtenderConnection(http_timeout, tls)
        self.last: ExtenderExchange | None = None
        """The last request and its reply."""

    def url(self, verb: str) -> str:
        """The URL of a verb, as the release composes it."""
        prefix = self.url_prefix.rstrip("/") if self.release.trims_prefix else self.url_prefix
        return "/".join((prefix, "v1", verb) if self.release.version_in_path else (prefix, verb))

    # Verbs
    def filter(self, pod: JsonObject, nodes: Sequence[JsonObject]) -> FilterOutcome:
        """The nodes that pass, and the reasons of the others."""
        names = [_name(node) for node in nodes]
        if not self.verbs["filter"]:
            return FilterOutcome(names)
        try:
            result = self._ask("filter", self.arguments(pod, nodes), go_json.FILTER_RESULT, "v1.ExtenderFilterResult")
            if result["Error"]:
                raise ExtenderFailedError(result["Error"])
            passing = self._passing(result, names)
        except ExtenderFailedError as problem:
            return FilterOutcome(names, ignored=self._or_ignore("filter", problem))
        failed = result["FailedNodes"] or {}
        unresolvable = (result["FailedAndUnresolvableNodes"] or {}) if self.release.knows_unresolvable else {}
        silent = set(names).difference(passing, failed, unresolvable)
        candidates = set(failed).difference(unresolvable)
        if self.release.preempts_on_unlisted_nodes:
            candidates |= silent
        return FilterOutcome(passing, failed, unresolvable, frozenset(candidates))

    def prioritize(self, pod: JsonObject, nodes: Sequence[JsonObject]) -> Priorities:
        """The scores of nodes. As in kube-scheduler, the extender is called only for two nodes or more."""
        if not self.verbs["prioritize"] or len(nodes) < 2:
            return Priorities({})
        try:
            body = self.arguments(pod, nodes)
            entries = self._ask("prioritize", body, go_json.HOST_PRIORITIES, "v1.HostPriorityList")
        except ExtenderFailedError as problem:
            return Priorities({}, str(problem))
        scores = dict.fromkeys(map(_name, nodes), 0)
        for entry in entries or ():
            if entry["Host"] in scores:
                scores[entry["Host"]] += entry["Score"] * self.weight * self.release.scale
        return Priorities(scores)

    def preempt(
        self,
        pod: JsonObject,
        offers: Mapping[str, VictimsReply],
        pods_on: Mapping[str, Iterable[JsonObject]] | None = None,
    ) -> dict[str, tuple[tuple[str, ...], int]]:
        """(uids, violations) by node. `pods_on` are all pods by node, by default the proposed victims."""
        known = {node: {_uid(pod) for pod in pods} for node, pods in (pods_on or {}).items()}
        for node, victims in offers.items():
            known.setdefault(node, {_uid(each) for each in victims.pods})
        unchanged = {node: (tuple(map(_uid, each.pods)), each.violations) for node, each in offers.items()}
        if not self.verbs["preempt"] or not self.release.preempts:
            return unchanged
        try:
            reply = self._ask(
                "preempt",
                self._preempt_arguments(pod, offers),
                go_json.PREEMPTION_RESULT,
                "v1.ExtenderPreemptionResult",
            )
            found = {
                node: self._claimed(node, victims, known)
                for node, victims in (reply["NodeNameToMetaVictims"] or {}).items()
            }
        except ExtenderFailedError as problem:
            self._or_ignore("preempt", problem)
            return unchanged
        return {node: claim for node, claim in found.items() if self._has_victims(node, claim[0])}

    def bind(self, pod: JsonObject, node_name: str) -> None:
        """Bind the pod. Raises ExtenderFailedError, also if the extender is ignorable."""
        meta = pod["metadata"]
        body = {"PodName": meta["name"], "PodNamespace": meta["namespace"], "PodUID": meta["uid"], "Node": node_name}
        result = self._ask("bind", body, go_json.BINDING_RESULT, "v1.ExtenderBindingResult")
        if result["Error"]:
            raise ExtenderFailedError(result["Error"])

    # Requests
    def arguments(self, pod: JsonObject, nodes: Sequence[JsonObject]) -> JsonObject:
        """The request for `filter` and `prioritize`."""
        whole = None if self.names_only else {"metadata": {}, "items": list(nodes)}
        if self.release.lower_case:
            return {"pod": pod, "nodes": whole}
        return {"Pod": pod, "Nodes": whole, "NodeNames": [_name(node) for node in nodes] if self.names_only else None}

    def _preempt_arguments(self, pod: JsonObject, offers: Mapping[str, VictimsReply]) -> JsonObject:
        def encoded(victims: VictimsReply) -> JsonObject:
            pods = [{"UID": _uid(each)} for each in victims.pods] if self.names_only else list(victims.pods)
            return {"Pods": pods, "NumPDBViolations": victims.violations}

        proposed = {node: encoded(victims) for node, victims in offers.items()}
        whole, meta = (None, proposed) if self.names_only else (proposed, None)
        return {"Pod": pod, "NodeNameToVictims": whole, "NodeNameToMetaVictims": meta}

    def _ask(self, verb: str, arguments: JsonObject, reader: go_json.Reader, type_name: str) -> Any:
        url = self.url(self.verbs[verb])
        try:
            self.last = exchange = self.wire.post(url, json.dumps(arguments, separators=(",", ":")).encode())
            if self.release.checks_status and exchange.status != OK:
                message = f"failed {self.verbs[verb]} with extender at URL {url}, code {exchange.status}"
                raise ExtenderFailedError(message)
            return go_json.read(reader, exchange.body, type_name)
        except (UnreachableError, go_json.GoError) as problem:
            raise ExtenderFailedError(str(problem)) from problem

    # Replies
    def _passing(self, result: JsonObject, names: Sequence[str]) -> list[str]:
        if self.names_only and result["NodeNames"] is not None:
            for name in result["NodeNames"]:
                if name not in names:
                    self._unknown(name)
            return list(result["NodeNames"])
        whole = result["Nodes"]
        return [] if whole is None else [item["metadata"]["name"] for item in whole["items"] or ()]

    def _unknown(self, name: str) -> None:
        if not self.release.rejects_unknown_names:
            raise SchedulerCrashedError(f"nil pointer: node {json.dumps(name)} is not in the request")
        prefix = json.dumps(self.url_prefix)
        text = f"claims a filtered node {json.dumps(name)} which is not found in the input node list"
        raise ExtenderFailedError(f"extender {prefix} {text}")

    def _claimed(self, node: str, victims: JsonObject | None, known: Mapping[str, set[str]]) -> tuple[Any, int]:
        if node not in known:
            raise ExtenderFailedError(f"nodeinfo not found for node name {json.dumps(node)}")
        if victims is None or None in (victims["Pods"] or ()):
            raise SchedulerCrashedError(f"nil pointer: null among the victims on node {json.dumps(node)}")
        uids = tuple(each["UID"] for each in victims["Pods"] or ())
        for uid in uids:
            if uid not in known[node]:
                raise ExtenderFailedError(
                    f"extender: {self.url_prefix} claims to preempt pod (UID: &{{{uid}}}) on node: {node}, "
                    "but the pod is not found on that node"
                )
        return uids, victims["NumPDBViolations"] if self.release.keeps_violations else 0

    def _has_victims(self, node: str, uids: tuple[str, ...]) -> bool:
        if uids or self.release.allows_no_victims:
            return True
        if not self.release.rejects_no_victims:
            raise SchedulerCrashedError(f"index out of range: no victims on node {json.dumps(node)}")
        if not self.ignorable:
            raise ExtenderFailedError(f"expected at least one victim pod on node {json.dumps(node)}")
        return False

    def _or_ignore(self, verb: str, problem: ExtenderFailedError) -> str:
        """Raise the error again, unless the extender is ignorable; then return its message."""
        if isinstance(problem, SchedulerCrashedError) or not self.ignorable or not self.release.may_ignore(verb):
            raise problem
        return str(problem)

    def close(self) -> None:
        self.wire.close()

    def __del__(self) -> None:
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def _name(node: JsonObject) -> str:
    return str(node["metadata"]["name"])


def _uid(pod: JsonObject) -> str:
    return str(pod["metadata"]["uid"])
