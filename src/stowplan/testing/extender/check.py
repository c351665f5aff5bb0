"""Checks of an extender's replies."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from stowplan.testing.errors import UnreachableError
from stowplan.testing.extender import go_json
from stowplan.testing.extender.client import ExtenderFailedError, KubeSchedulerClient, VictimsReply
from stowplan.testing.extender.fuzz import mutations
from stowplan.testing.extender.releases import CURRENT, RELEASES
from stowplan.testing.extender.samples import JsonObject, sample_nodes, sample_pod

Level = Literal["error", "warning"]
HIGHEST_SCORE = 10
LARGE_REQUEST_NODES = 5000
_FIELDS = ("filter_verb", "prioritize_verb", "preempt_verb", "bind_verb")


@dataclass(frozen=True)
class Finding:
    """An error prevents scheduling of pods, a warning may do so later. An empty `release` means all releases."""

    level: Level
    release: str
    verb: str
    text: str

    def __str__(self) -> str:
        return f"{self.level}: {self.verb}{f' ({self.release})' if self.release else ''}: {self.text}"


def check_extender(
    url_prefix: str,
    *,
    filter_verb: str = "",
    prioritize_verb: str = "",
    preempt_verb: str = "",
    bind_verb: str = "",
    node_cache_capable: bool | None = None,
    releases: Iterable[str] = tuple(RELEASES),
    pod: JsonObject | None = None,
    nodes: Sequence[JsonObject] | None = None,
    http_timeout: float = 5.0,
    tls: ssl.SSLContext | None = None,
    fuzz: int = 0,
    seed: int = 0,
) -> list[Finding]:
    """Errors and warnings about an extender.

    `node_cache_capable` restricts the check to one list mode. `pod` and `nodes` replace the samples. `fuzz` is the
    number of additional malformed requests.
    """
    verbs = dict(zip(_FIELDS, (filter_verb, prioritize_verb, preempt_verb, bind_verb), strict=True))
    modes = (True, False) if node_cache_capable is None else (node_cache_capable,)
    found: dict[Finding, None] = {}
    for release in releases:
        for cached in modes:
            if cached and not RELEASES[release].sends_names:
                continue
            fields = {"node_cache_capable": cached, "http_timeout": http_timeout, "tls": tls}
            with KubeSchedulerClient(release, url_prefix, **verbs, **fields) as client:  # type: ignore[arg-type]
                checks = _Checks(client, pod or sample_pod(), nodes or sample_nodes())
                found |= dict.fromkeys(checks.run(fuzz if release == CURRENT else 0, seed))
    return list(found)


class _Checks:
    """All checks with one client."""

    def __init__(self, client: KubeSchedulerClient, pod: JsonObject, nodes: Sequence[JsonObject]) -> None:
        self._client = client
        self._pod = pod
        self._nodes = nodes
        self._names = [str(node["metadata"]["name"]) for node in nodes]
        mode = "names" if client.names_only else "nodes"
        self._release = f"{client.release.name}, {mode}"

    def run(self, fuzz: int, seed: int) -> Iterator[Finding]:
        verbs = {
            "filter": self._filter,
            "prioritize": self._prioritize,
            "preempt": self._preempt,
            "bind": self._bind,
        }
        for verb, check in verbs.items():
            if self._client.verbs[verb]:
                try:
                    yield from check()
                except ExtenderFailedError as problem:
                    yield self._error(verb, str(problem))
        if self._client.release.name == CURRENT:
            for verb in ("filter", "prioritize"):
                if self._client.verbs[verb]:
                    yield from self._tolerance(verb)
                    yield from self._fuzz(verb, fuzz, seed)

    def _error(self, verb: str, text: str) -> Finding:
        return Finding("error", self._release, verb, text)

    def _warning(self, verb: str, text: str) -> Finding:
        return Finding("warning", self._release, verb, text)

    def _filter(self) -> Iterator[Finding]:
        outcome = self._client.filter(self._pod, self._nodes)
        yield from self._manners("filter")
        for name in sorted(set(outcome.passing).difference(self._names)):
            yield self._error("filter", f"node {json.dumps(name)} is not in the request")
        if len(set(outcome.passing)) != len(outcome.passing):
            yield self._warning("filter", "a node passes twice")
        rejected = {**outcome.failed, **outcome.unresolvable}
        silent = set(self._names).difference(outcome.passing, rejected)
        if silent:
            yield self._warning(
                "filter", "nodes are rejected without a reason, so the pod's event does not mention them"
            )
        if any(name in reason for reason in rejected.values() for name in self._names):
            yield self._warning("filter", "a reason names a node, so reasons do not add up in the pod's event")
        if not self._client.names_only:
            yield from self._unchanged()
        again = self._client.filter(self._pod, self._nodes)
        if sorted(again.passing) != sorted(outcome.passing):
            yield self._warning("filter", "the same request gets a different reply")

    def _unchanged(self) -> Iterator[Finding]:
        """Scoring uses the nodes of the reply if they are whole objects."""
        assert self._client.last is not None
        # As Go does it: the first value, whatever comes after it.
        members, _ = json.JSONDecoder().raw_decode(self._client.last.body.decode("utf-8", "replace").strip())
        nodes = next((value for key, value in (members or {}).items() if key.lower() == "nodes"), None) or {}
        sent = {node["metadata"]["name"]: node for node in self._nodes}
        for item in nodes.get("items") or ():
            name = ((item or {}).get("metadata") or {}).get("name")
            if name in sent and not _keeps(item, sent[name]):
                yield self._warning(
                    "filter", "a node in the reply differs from the one in the request, and scoring uses the former"
                )
                return

    def _prioritize(self) -> Iterator[Finding]:
        outcome = self._client.prioritize(self._pod, self._nodes)
        if outcome.error:
            yield self._error("prioritize", f"no scores, and kube-scheduler ignores this error: {outcome.error}")
            return
        yield from self._manners("prioritize")
        assert self._client.last is not None
        entries = go_json.read(go_json.HOST_PRIORITIES, self._client.last.body, "v1.HostPriorityList") or []
        hosts = [entry["Host"] for entry in entries]
        if set(hosts).difference(self._names):
            yield self._warning("prioritize", "a node that is not in the request has a score")
        if len(set(hosts)) != len(hosts):
            yield self._warning("prioritize", "a node has two scores, which are added up")
        if any(not 0 <= entry["Score"] <= HIGHEST_SCORE for entry in entries):
            yield self._warning("prioritize", f"a score is outside 0 to {HIGHEST_SCORE}, so it outweighs other scores")
        if not hosts:
            yield self._warning("prioritize", "no node has a score")

    def _preempt(self) -> Iterator[Finding]:
        if not self._client.release.preempts:
            return
        offers = {
            name: VictimsReply([{**sample_pod(f"victim-{i}"), "spec": {**sample_pod()["spec"], "nodeName": name}}])
            for i, name in enumerate(self._names)
        }
        if self._client.release.allows_no_victims:
            offers[self._names[-1]] = VictimsReply(())
        left = self._client.preempt(self._pod, offers)
        yield from self._manners("preempt")
        if set(left).difference(offers):
            yield self._warning("preempt", "the reply names a node that is not in the request")

    def _bind(self) -> Iterator[Finding]:
        """The pod does not exist, so an error is expected; it must be readable."""
        if not self._client.release.binds:
            return
        try:
            self._client.bind(self._pod, self._names[0])
            yield self._warning("bind", "the reply reports success for a pod that does not exist")
        except ExtenderFailedError as problem:
            last = self._client.last
            if last is None or last.status != 200 or not last.body.strip():
                yield self._error("bind", f"the reason does not reach the pod's event: {problem}")

    def _manners(self, verb: str) -> Iterator[Finding]:
        last = self._client.last
        if last is not None and "content-length" not in last.headers:
            yield Finding("warning", "", verb, "no Content-Length: Go may drop the connection after such a reply")

    def _tolerance(self, verb: str) -> Iterator[Finding]:
        """Requests that other clients send, or kube-scheduler with other settings."""
        client = self._client
        request = client.arguments(self._pod, self._nodes)
        url = client.url(client.verbs[verb])
        names = [f"node-{i}" for i in range(LARGE_REQUEST_NODES)]
        many = {**request, "NodeNames": names} if client.names_only else request
        forms: dict[str, tuple[str, JsonObject, str]] = {
            "unknown keys": (url, {**request, "Extra": {"a": 1}}, "application/json"),
            "the unused list left out": (url, {k: v for k, v in request.items() if v is not None}, "application/json"),
            "keys in lower case": (url, {key.lower(): value for key, value in request.items()}, "application/json"),
            "a charset in the Content-Type": (url, request, "application/json; charset=utf-8"),
            f"{LARGE_REQUEST_NODES} names": (url, many, "application/json"),
        }
        for what, (address, body, content_type) in forms.items():
            try:
                status = client.wire.post(address, json.dumps(body).encode(), content_type).status
                problem = "" if status == 200 else f"status {status}"
            except UnreachableError as unreachable:
                problem = str(unreachable)
            if problem:
                yield self._warning(verb, f"{what}: {problem}")

    def _fuzz(self, verb: str, count: int, seed: int) -> Iterator[Finding]:
        client = self._client
        url = client.url(client.verbs[verb])
        for kind, body in mutations(client.arguments(self._pod, self._nodes), count, seed):
            try:
                exchange = client.wire.post(url, body)
                if exchange.status == 200:
                    go_json.first_value(exchange.body)
            except UnreachableError as problem:
                yield self._error(verb, f"malformed request ({kind}): no reply: {_cause(problem)}")
            except go_json.GoError as problem:
                yield self._error(
                    verb, f"malformed request ({kind}): status 200 with a body that is not JSON: {problem}"
                )
        if count:
            ask: Any = client.filter if verb == "filter" else client.prioritize
            try:
                ask(self._pod, self._nodes)
            except ExtenderFailedError as problem:
                yield self._error(verb, f"no replies after malformed requests: {problem}")


def _keeps(got: Any, sent: Any) -> bool:
    """Whether all sent members are present; empty members may be added or omitted."""
    if isinstance(sent, dict) and isinstance(got, dict):
        return all(_keeps(got.get(key), value) for key, value in sent.items() if value not in ({}, [], None, ""))
    if isinstance(sent, list) and isinstance(got, list):
        return len(got) == len(sent) and all(map(_keeps, got, sent))
    return bool(got == sent)


def _cause(problem: UnreachableError) -> str:
    return str(problem).partition('": ')[2]
