"""One extender of a configuration: its requests and the interpretation of its replies.

Upstream: pkg/scheduler/extender.go (HTTPExtender)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any, NamedTuple

from stowplan import logs
from stowplan.config.extender_limits import ExtenderLimits
from stowplan.config.types import Extender as Entry
from stowplan.extender.client.circuit_breaker import Breaker
from stowplan.extender.client.hedging import hedged
from stowplan.extender.client.objects import Objects, pod_bytes
from stowplan.extender.client.transport import ExtenderUnreachableError, HttpReply, Transport
from stowplan.extender.wire import client_replies, client_requests
from stowplan.extender.wire.errors import WireError
from stowplan.framework import Failure, NodeInfo, Pod, PodTemplate
from stowplan.framework.extender import (
    CIRCUIT_OPEN,
    UNREACHABLE,
    CallExtender,
    ExtenderMetaVictims,
    ExtenderVerb,
    ExtenderVictims,
    Filtered,
)

log = logs.get(__name__)

OK = 200
GATEWAY_TROUBLE = (502, 503, 504)
"""HTTP statuses of a proxy whose extender is unavailable."""
MAX_ERROR_BODY_LENGTH = 300
"""Maximum length of an error's body in messages."""
HIGHEST_SCORE = 10
_HEDGED = ("filter", "prioritize", "preempt")


class CircuitOpenError(ExtenderUnreachableError):
    """The extender was not called."""


class CallOutcome(NamedTuple):
    """Metrics of one call. `result` is success, error, unreachable, or spared if the circuit breaker prevented it."""

    extender: str
    verb: str
    result: str
    seconds: float = 0.0
    sent: int = 0
    received: int = 0


class HttpExtender:
    """Implements the runtime's port. `call` answers with a Failure where kube-scheduler has an error, in its words."""

    def __init__(
        self,
        entry: Entry,
        transport: Transport,
        clock: Callable[[], float] = monotonic,
        observe: Callable[[CallOutcome], None] = lambda outcome: None,
        limits: ExtenderLimits | None = None,
    ) -> None:
        self.entry = entry
        self.name = entry.url_prefix
        self.weight = entry.weight
        self.ignorable = entry.ignorable
        self.observe = observe
        """Called after every call."""
        self._verbs: dict[ExtenderVerb, str] = {
            "filter": entry.filter_verb,
            "prioritize": entry.prioritize_verb,
            "preempt": entry.preempt_verb,
            "bind": entry.bind_verb,
        }
        self._managed = frozenset(resource.name for resource in entry.managed_resources)
        seconds = entry.http_timeout.seconds
        self._http_timeout = seconds if seconds > 0 else None
        self._limits = limits or ExtenderLimits()
        self._transport = transport
        self._clock = clock
        self._objects = Objects()
        self._breakers: dict[ExtenderVerb, Breaker] = {verb: Breaker(clock) for verb in self._verbs}
        self._logged: set[str] = set()

    def serves(self, verb: ExtenderVerb) -> bool:
        return bool(self._verbs[verb])

    def is_interested(self, pod: Pod) -> bool:
        """Whether the pod requests a managed resource; an extender without managedResources takes all pods."""
        return not self._managed or pod.template.derive(self, self._concerns)

    def _concerns(self, template: PodTemplate) -> bool:
        containers = (*template.spec.containers, *template.spec.init_containers)
        return any(
            not self._managed.isdisjoint(wanted)
            for container in containers
            for wanted in (container.resources.requests, container.resources.limits)
        )

    @property
    def open_circuits(self) -> list[str]:
        """The verbs whose circuit is open."""
        return [verb for verb, breaker in self._breakers.items() if breaker.is_open]

    async def close(self) -> None:
        await self._transport.close()

    async def call(self, request: CallExtender) -> Any:
        """Call the extender. Never raises: errors are returned."""
        try:
            body = await self._ask(request.verb, self._body(request))
            return self._read(request, body)
        except WireError as problem:
            return Failure(str(problem))
        except CircuitOpenError as problem:
            return Failure(str(problem), CIRCUIT_OPEN)
        except ExtenderUnreachableError as problem:
            return Failure(str(problem), UNREACHABLE)
        except Exception as bug:
            log.exception(bug, "Extender call failed", extender=self.name, verb=request.verb)
            return Failure(f"internal error: {type(bug).__name__}: {bug}")

    # Requests
    def _body(self, request: CallExtender) -> bytes:
        pod, cached = request.pod, self.entry.node_cache_capable
        if request.verb == "bind":
            return client_requests.write_bind(pod.name, pod.namespace, pod.uid, request.argument)
        if request.verb == "preempt":
            offers: Mapping[str, ExtenderVictims] = request.argument
            if cached:
                uids = {node: ([victim.uid for victim in e.victims], e.pdb_violations) for node, e in offers.items()}
                return client_requests.write_preempt(self._objects.pod(pod), uids)
            whole = {node: (list(map(pod_bytes, e.victims)), e.pdb_violations) for node, e in offers.items()}
            return client_requests.write_preempt_whole(self._objects.pod(pod), whole)
        nodes: Sequence[NodeInfo] = request.argument
        if cached:
            return client_requests.write_filter(self._objects.pod(pod), node_names=[info.name for info in nodes])
        return client_requests.write_filter(self._objects.pod(pod), nodes=map(self._objects.node, nodes))

    async def _ask(self, verb: ExtenderVerb, body: bytes) -> bytes:
        """The body of a reply with status 200. Raises ExtenderUnreachableError and WireError."""
        breaker = self._breakers[verb]
        if refusal := breaker.refusal():
            self.observe(CallOutcome(self.name, verb, "spared"))
            raise CircuitOpenError(refusal)
        url = f"{self.name.rstrip('/')}/{self._verbs[verb]}"
        began = self._clock()
        try:
            answer = await self._answer(verb, url, body)
        except BaseException as problem:
            seconds = self._clock() - began
            breaker.failed(str(problem), seconds)
            self.observe(CallOutcome(self.name, verb, "unreachable", seconds, len(body)))
            raise
        seconds = self._clock() - began
        wrong = "" if answer.status == OK else _refusal(self._verbs[verb], url, answer)
        result = "error" if wrong else "success"
        self.observe(CallOutcome(self.name, verb, result, seconds, len(body), len(answer.body)))
        if answer.status in GATEWAY_TROUBLE:
            breaker.failed(wrong, seconds)
            raise ExtenderUnreachableError(wrong)
        breaker.worked()
        if wrong:
            raise WireError(wrong)
        return answer.body

    async def _answer(self, verb: ExtenderVerb, url: str, body: bytes) -> HttpReply:
        after = self._limits.hedge_after
        if after <= 0 or verb not in _HEDGED:
            return await self._post(verb, url, body)
        return await hedged(lambda: self._post(verb, url, body), after)

    async def _post(self, verb: ExtenderVerb, url: str, body: bytes) -> HttpReply:
        return await self._transport.post(url, body, self._limits.timeout(verb, self._http_timeout))

    # Replies
    def _read(self, request: CallExtender, body: bytes) -> Any:
        if request.verb == "filter":
            return self._read_filter(request.argument, body)
        if request.verb == "prioritize":
            return self._read_scores(request.argument, body)
        if request.verb == "preempt":
            victims = client_replies.read_preempt_result(body)
            return {node: ExtenderMetaVictims(meta.uids, meta.violations) for node, meta in victims.items()}
        if not body.strip():
            self._warn("a binding was answered without a body, which kube-scheduler takes for a failure")
            return None
        error = client_replies.read_bind_result(body)
        return Failure(error) if error else None

    def _read_filter(self, nodes: Sequence[NodeInfo], body: bytes) -> Filtered | Failure:
        result = client_replies.read_filter_result(body)
        if result.error:
            return Failure(result.error)
        self._warn(*result.problems)
        requested = {info.name for info in nodes}
        named = result.node_names if self.entry.node_cache_capable else None
        if named is None:
            named = result.nodes
        if named is None and result.node_names:
            self._warn("it answered with NodeNames, which count only with nodeCacheCapable: no node passes")
        passing: dict[str, None] = {}
        for name in named or ():
            if name in requested:
                passing[name] = None
            elif name:
                text = f"claims a filtered node {json.dumps(name)} which is not found in the input node list"
                return Failure(f"extender {json.dumps(self.name)} {text}")
        if len(passing) != len(named or ()):
            self._warn("a filtered node is named twice, or without a name")
        return Filtered(
            list(passing),
            {name: reason for name, reason in result.failed.items() if name in requested},
            {name: reason for name, reason in result.unresolvable.items() if name in requested},
        )

    def _read_scores(self, nodes: Sequence[NodeInfo], body: bytes) -> dict[str, float]:
        result = client_replies.read_host_priorities(body)
        self._warn(*result.problems)
        requested = {info.name for info in nodes}
        scores: dict[str, float] = {}
        for host, score in result.scores:
            if host not in requested:
                self._warn("it scored a node that is not in the request")
                continue
            if not 0 <= score <= HIGHEST_SCORE:
                self._warn(f"a score is outside 0 to {HIGHEST_SCORE}, and counts as it is: {score}")
            scores[host] = scores.get(host, 0) + score
        return scores

    def _warn(self, *problems: str) -> None:
        """Log a problem once, since it recurs with every pod."""
        for problem in problems:
            kind = problem.partition(":")[0].partition(" in {")[0]
            if kind not in self._logged:
                self._logged.add(kind)
                log.warning("Extender returned an invalid result", extender=self.name, err=problem)
            else:
                log.v(5, "Extender returned an invalid result", extender=self.name, err=problem)


def _refusal(verb: str, url: str, answer: HttpReply) -> str:
    """kube-scheduler's message for a status other than 200, with the extender's own text."""
    message = " ".join(answer.body[: 8 * MAX_ERROR_BODY_LENGTH].decode("utf-8", "replace").split())
    try:
        parsed = json.loads(message)
        if parsed is None:
            message = ""
        elif isinstance(parsed, dict):
            message = next((str(parsed[key]) for key in parsed if key.lower() in ("error", "message")), message)
    except ValueError:
        pass
    shown = message if len(message) <= MAX_ERROR_BODY_LENGTH else f"{message[:MAX_ERROR_BODY_LENGTH]}..."
    return f"failed {verb} with extender at URL {url}, code {answer.status}" + (f": {shown}" if shown else "")
