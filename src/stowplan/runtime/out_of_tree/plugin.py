"""Out-of-tree plugins: their answers are checked, and plugins that handle one node at a time get a vector form.

A plugin that raises, or returns a value of the wrong type, fails the attempt of that pod with an error that names the
plugin; nothing else is affected.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

import msgspec
import numpy as np

from stowplan import logs
from stowplan.api import Wire
from stowplan.cache import Cluster
from stowplan.framework import (
    ALL_EVENTS,
    Call,
    ClusterEventWithHint,
    Code,
    CycleState,
    Failure,
    Mask,
    NodeInfo,
    Nodes,
    Placement,
    Plugin,
    Pod,
    PodGroupAssignments,
    PodGroupInfo,
    PodTemplate,
    PostFilterResult,
    QueuedPodInfo,
    Refusal,
    Requirement,
    Scores,
    Status,
    error,
    implements,
)
from stowplan.framework.explanation import EXPLANATION_FAILED
from stowplan.framework.plugin import is_set_beside
from stowplan.framework.points import FILTER, POINTS, SCORE, PointStep, implements_point
from stowplan.framework.safe_text import is_user_interrupt, raised, shown
from stowplan.framework.status import merge_rejections
from stowplan.plugins.base import InTreePlugin
from stowplan.runtime.decide.normalize import Raw
from stowplan.runtime.out_of_tree.answer_checks import (
    FRACTIONAL_NORMALIZERS,
    ScoreChecks,
    array,
    checked_refusals,
    checked_status,
    not_a_status,
    sort_key_types,
    unexpected,
)
from stowplan.runtime.out_of_tree.template_only_pod import TemplateOnlyPod

T = TypeVar("T")
log = logs.get(__name__)

_STACK_TRACE_VERBOSITY = 5


class OutOfTreePlugin(InTreePlugin):
    """Adapts an out-of-tree plugin to the interface that the runtime calls.

    The methods that only pass a call on come from the table of extension points, see `_forwarding`.
    """

    scores_infeasible_nodes = False

    def __init__(self, inner: Plugin, on_uncacheable: Callable[[], None]) -> None:
        Plugin.__init__(self, inner.args, inner.handle)  # Without the cache columns of InTreePlugin.
        self.inner = inner
        self.name = inner.name  # type: ignore[misc]
        self.scope = inner.scope  # type: ignore[misc]
        self.normalize = inner.normalize  # type: ignore[misc]
        self.parallel_pre_bind = inner.parallel_pre_bind  # type: ignore[misc]
        self.reads = inner.reads  # type: ignore[misc]
        self.bug = ""
        """The first exception out of the plugin, or answer that no plugin may return."""
        self.checks = ScoreChecks(inner, self._note_bug)
        self._on_uncacheable = on_uncacheable
        self._sort_key_types: tuple[type, ...] | None = None
        kind = type(inner)
        self._has_kept_answers = implements_point(kind, FILTER) or implements_point(kind, SCORE)
        self.has_filter_nodes = implements(kind, "filter_nodes")
        self.has_score_nodes = implements(kind, "score_nodes")
        self.has_pre_score = implements(kind, "pre_score")
        self.has_normalize_nodes = implements(kind, "normalize_nodes")
        self.has_normalize_score = implements(kind, "normalize_score")
        self.raw_type: type[np.generic] = np.float64 if self.normalize in FRACTIONAL_NORMALIZERS else np.int64

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | Iterable[str] | None:
        answer = self._call("pre_filter", self.inner.pre_filter, state, self._guarded(pod), nodes)
        if answer is None or isinstance(answer, Status):
            return self._status(answer, "pre_filter")
        if isinstance(answer, str) or not isinstance(answer, Iterable):
            return self._bug(unexpected("pre_filter", answer, "a Status, node names or None"))
        # The answer may be a generator, which raises only when it is read.
        names: Status | frozenset[str] = self._call("pre_filter", lambda: frozenset(map(str, answer)))
        return names

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        if self.has_filter_nodes and not implements(type(self.inner), "filter"):
            return self._first(self.filter_nodes(state, pod, _only(node)))
        return self._status(self._call("filter", self.inner.filter, state, self._guarded(pod), node), "filter")

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Iterator[tuple[Mask, Status]]:
        if self.has_filter_nodes:
            yield from self._vector_filter(state, pod, nodes)
            return
        masks: dict[Status, Mask] = {}
        guarded, filter_node = self._guarded(pod), self.inner.filter
        for position, info in nodes.infos():
            # Inlined `_call`, to save a function call for each node.
            try:
                answer = filter_node(state, guarded, info)
            except BaseException as problem:
                answer = self._raised("filter", problem)
            if answer is None:
                continue
            status = self._status(answer, "filter")
            if status is not None and status.code:
                mask = masks.get(status)
                if mask is None:
                    mask = masks[status] = np.zeros(len(nodes), dtype=np.bool_)
                mask[position] = True
        for status, mask in masks.items():
            yield mask, status

    def less(self, a: QueuedPodInfo, b: QueuedPodInfo) -> bool:
        answer = self._call("less", self.inner.less, a, b)
        return answer if isinstance(answer, bool) else False

    def current_sort_key(self) -> Callable[[QueuedPodInfo], Any] | None:
        return self.sort_key if is_set_beside(type(self.inner), "sort_key", "less") else None

    def sort_key(self, item: QueuedPodInfo) -> tuple[Any, ...]:
        """The plugin's key after a 0. A pod without a valid key gets (1,) and goes behind the others."""
        key = self._call("sort_key", self.inner.sort_key, item)
        types = sort_key_types(key)
        if types is None or types != (self._sort_key_types or types):
            if not isinstance(key, Status):
                expected = "a tuple of numbers and strings, of the same length and types for all pods"
                log.warning(
                    "Plugin failed", plugin=self.name, err=f"sort_key returned {shown(key)}, expected {expected}"
                )
            return (1,)
        self._sort_key_types = types
        return (0, *key)

    def events_to_register(self) -> Iterable[ClusterEventWithHint]:
        answer = self._call("events_to_register", lambda: tuple(self.inner.events_to_register()))
        return ALL_EVENTS if isinstance(answer, Status) else answer

    def post_filter(
        self, state: CycleState, pod: Pod, statuses: Mapping[str, Status]
    ) -> Status | PostFilterResult | None:
        answer = self._call("post_filter", self.inner.post_filter, state, pod, statuses)
        if not isinstance(answer, PostFilterResult):
            return self._status(answer, "post_filter")
        status = self._status(answer.status, "post_filter")
        return answer if status is answer.status else PostFilterResult(answer.nominated_node_name, status)

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> float | Status:
        if self.has_score_nodes and not implements(type(self.inner), "score"):
            return float(self.score_nodes(state, pod, _only(node))[0])
        return self.checks.score(self._call("score", self.inner.score, state, self._guarded(pod), node))

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Raw:
        raw: Raw = np.zeros(len(nodes), dtype=self.raw_type)
        check = self.checks.score
        if self.has_score_nodes:
            answer = self._call("score_nodes", self.inner.score_nodes, state, self._guarded(pod), nodes)
            given = self.checks.vector(answer, nodes)
            for position, _ in nodes.infos():
                raw[position] = check(given[position])
            return raw
        guarded = self._guarded(pod)
        for position, info in nodes.infos():
            raw[position] = check(self._call("score", self.inner.score, state, guarded, info))
        return raw

    def normalize_nodes(self, state: CycleState, pod: Pod, scores: Scores, nodes: Nodes) -> Scores:
        if self.has_normalize_nodes:
            guarded = self._guarded(pod)
            answer = self._call("normalize_nodes", self.inner.normalize_nodes, state, guarded, scores, nodes)
            return self.checks.normalized_vector(answer, nodes)
        if self.has_normalize_score:
            return self._normalized_by_name(state, pod, scores, nodes)
        return scores  # Each was checked when the plugin returned it.

    def _normalized_by_name(self, state: CycleState, pod: Pod, scores: Scores, nodes: Nodes) -> Scores:
        by_name: dict[str, Any] = {info.name: int(scores[position]) for position, info in nodes.infos()}
        guarded = self._guarded(pod)
        answer = self._call("normalize_score", self.inner.normalize_score, state, guarded, by_name)
        status = self._status(answer, "normalize_score")
        if status is not None and status.code:
            raise self.checks.failure("normalize", status)
        return self.checks.normalized_by_name(by_name, nodes)

    def generate_placements(
        self, state: CycleState, group: PodGroupInfo, parent: Placement
    ) -> Status | Iterable[Placement]:
        answer = self._call("generate_placements", self.inner.generate_placements, state, group, parent)
        if isinstance(answer, Status):
            return self._status(answer, "generate_placements") or ()
        given: Status | tuple[Placement, ...] = self._call("generate_placements", lambda: tuple(answer))
        if isinstance(given, Status):
            return given
        if not all(isinstance(each, Placement) for each in given):
            return self._bug(unexpected("generate_placements", answer, "placements or a Status"))
        if len({each.name for each in given}) < len(given):
            return self._bug(error("generate_placements returned two placements of the same name"))
        return given

    def score_placement(
        self, state: CycleState, group: PodGroupInfo, assignments: PodGroupAssignments
    ) -> float | Status:
        answer = self._call("score_placement", self.inner.score_placement, state, group, assignments)
        if isinstance(answer, Status):
            return self._status(answer, "score_placement") or 0
        score: int | Status = self._call("score_placement", int, answer)
        return score

    def explain(self, state: CycleState, pod: Pod, node: NodeInfo) -> list[Refusal]:
        return self._refusals("explain", state, pod, node)

    def explain_pod(self, state: CycleState, pod: Pod, status: Status) -> list[Refusal]:
        return self._refusals("explain_pod", state, pod, status)

    def requirement(self, state: CycleState, pod: Pod, node: NodeInfo) -> Requirement | None:
        try:
            answer: object = self.inner.requirement(state, pod, node)
            return None if answer is None else msgspec.convert(msgspec.to_builtins(answer), Requirement)
        except BaseException as problem:
            return Requirement("", self._explanation_error("requirement", problem))

    def explain_score(self, state: CycleState, pod: Pod, node: NodeInfo) -> str:
        try:
            return msgspec.convert(self.inner.explain_score(state, pod, node), str)
        except BaseException as problem:
            return self._explanation_error("explain_score", problem)

    def _refusals(self, method: str, *args: Any) -> list[Refusal]:
        """The plugin's explanation; a failure of the plugin is a refusal of its own."""
        try:
            return checked_refusals(getattr(self.inner, method)(*args))
        except BaseException as problem:
            return [Refusal(id=EXPLANATION_FAILED, text=self._explanation_error(method, problem))]

    def _explanation_error(self, method: str, problem: BaseException) -> str:
        if is_user_interrupt(problem):
            raise problem
        return f"{method} of plugin {self.name} {raised(problem)}"

    def signature(self, template: PodTemplate) -> Hashable:
        answer: Hashable = self._call("signature", _hashable, self.inner.signature, template)
        return template if isinstance(answer, Status) else answer

    def concerns(self, template: PodTemplate) -> bool:
        answer = self._call("concerns", self.inner.concerns, template)
        return answer if isinstance(answer, bool) else True

    def filter_token(self, pod: Pod) -> Hashable | None:
        answer: Hashable = self._call("filter_token", self.inner.filter_token, pod)
        return None if isinstance(answer, Status) else answer

    def _call(self, point: str, method: Callable[..., Any], *args: Any) -> Any:
        try:
            return method(*args)
        except BaseException as problem:  # Tasks are not cancelled inside a plain function.
            return self._raised(point, problem)

    def _raised(self, point: str, problem: BaseException) -> Status:
        if is_user_interrupt(problem):
            raise problem
        text = f"{point} {raised(problem)}{_advice(problem)}"
        trace = {"stacktrace": logs.stack_trace(problem)} if log.verbosity >= _STACK_TRACE_VERBOSITY else {}
        self._note_bug(text, **trace)
        return error(text)

    async def _call_outside(self, point: str, method: Callable[..., Any], *args: Any) -> Status | None:
        """Calls a method that may block or be a coroutine, as an instruction to the host. Optional plugins, which an
        extender serves as well, await instructions themselves."""
        if isinstance(self.inner, InTreePlugin):
            answer = method(*args)
            return self._status(await answer if isinstance(answer, Awaitable) else answer, point)
        answer = await Call(self.name, point, partial(method, *args))
        if isinstance(answer, Failure):
            return self._bug(error(f"{point} {answer.message}"))
        return self._status(answer, point)

    def _status(self, answer: object, point: str) -> Status | None:
        if answer is None:
            return None
        if not isinstance(answer, Status):
            return self._bug(not_a_status(answer))
        status = checked_status(answer, point)
        return status if status is answer or status.code != Code.Error else self._bug(status)

    def _bug(self, status: Status) -> Status:
        self._note_bug(status.message)
        return status

    def _note_bug(self, text: str, **trace: Any) -> None:
        self.bug = self.bug or text
        log.warning("Plugin failed", plugin=self.name, err=text, **trace)

    def _guarded(self, pod: Pod) -> Pod:
        """The pod for every point whose result, CycleState or attributes a kept answer can depend on."""
        if self.scope == "cluster" or not self._has_kept_answers:
            return pod
        return TemplateOnlyPod(pod, self._disable_caching)

    def forget_scope(self) -> None:
        """Keep no answers of the plugin."""
        self.scope = "cluster"  # type: ignore[misc]

    def fails_for_infeasible_nodes(self, problem: str) -> None:
        """The plugin failed for a node that is not feasible. Kept answers comprise such nodes, so none are kept from
        now on, and the plugin is called for nodes that the other plugins leave."""
        if self.scope != "cluster":
            log.warning(
                "Plugin fails for nodes that are not feasible; its results are no longer cached",
                plugin=self.name,
                scope=self.scope,
                err=problem,
            )
            self.forget_scope()
            self._on_uncacheable()

    def _disable_caching(self, attribute: str) -> None:
        """The plugin read a field that differs between pods of a template: its answers must not be kept from now on."""
        if self.scope != "cluster":
            advice = {"declare": 'reads_annotations = ("<key>",)'} if attribute == "annotations" else {}
            log.warning(
                "Plugin reads a field of the pod that is not part of its template; its results are no longer cached",
                plugin=self.name,
                scope=self.scope,
                field=f"pod.{attribute}",
                **advice,
            )
            self.forget_scope()
            self._on_uncacheable()

    def _vector_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Iterator[tuple[Mask, Status]]:
        answers = self._call(
            "filter_nodes", lambda *a: list(self.inner.filter_nodes(*a)), state, self._guarded(pod), nodes
        )
        if isinstance(answers, Status):
            yield np.ones(len(nodes), dtype=np.bool_), answers
            return
        for answer in answers:
            yield self._rejection(answer, nodes)

    def _rejection(self, answer: object, nodes: Nodes) -> tuple[Mask, Status]:
        match answer:
            case (given, Status() as status):
                mask = array(given, np.bool_)
                if mask.shape == (len(nodes),):
                    return mask, self._status(status, "filter_nodes") or status
        expected = "pairs of a mask over the nodes and a Status"
        return np.ones(len(nodes), dtype=np.bool_), self._bug(unexpected("filter_nodes", answer, expected))

    @staticmethod
    def _first(answers: Iterable[tuple[Mask, Status]]) -> Status | None:
        found = [status for mask, status in answers if mask[0]]
        return merge_rejections(found) if found else None


def _forwarding(step: PointStep, *, guarded: bool) -> Callable[..., Any]:
    """A method that passes its arguments on to the plugin and checks that a Status or None is returned. `guarded`: the
    second argument is the pod, and kept answers can depend on it."""
    method = step.methods[0]

    def inline(self: OutOfTreePlugin, *args: Any) -> Status | None:
        if guarded:
            args = (args[0], self._guarded(args[1]), *args[2:])
        return self._status(self._call(method, getattr(self.inner, method), *args), method)

    async def outside(self: OutOfTreePlugin, *args: Any) -> Status | None:
        return await self._call_outside(method, getattr(self.inner, method), *args)

    return inline if step.forwarding == "inline" else outside


for _point in POINTS:
    for _step in _point.steps:
        if _step.forwarding:
            _method = _forwarding(_step, guarded=_point.phase in ("filtering", "scoring"))
            setattr(OutOfTreePlugin, _step.methods[0], _method)


def serve_plugins(cluster: Cluster, plugins: Iterable[Plugin]) -> None:
    """Prepares a cluster for plugins that read more than the default ones: out-of-tree plugins, and others that read
    the status of pods. Called before pods are put."""
    for plugin in plugins:
        if not isinstance(plugin, InTreePlugin) or plugin.reads_pod_status:
            keys = plugin.reads_annotations
            follows_pods = plugin.scope == "node+pods"
            cluster.serve_plugins(True if keys is True else frozenset(keys), follows_pods=follows_pods)


def plugin_bugs(plugins: Iterable[Plugin]) -> dict[str, str]:
    """The first bug of each out-of-tree plugin that has shown one, by the plugin's name."""
    return {plugin.name: plugin.bug for plugin in plugins if isinstance(plugin, OutOfTreePlugin) and plugin.bug}


def _advice(problem: BaseException) -> str:
    """What to do about an exception whose text does not say it."""
    if isinstance(problem, AttributeError) and isinstance(problem.obj, Wire):
        kind = type(problem.obj).__name__
        return f"; {kind} has the fields that scheduling reads, others are in `object` with needs_objects = True"
    return ""


def _only(node: NodeInfo) -> Nodes:
    slots = np.array([node.slot], dtype=np.intp)
    return Nodes(slots, 1, {node.slot: node})  # type: ignore[arg-type]


def _hashable(method: Callable[[PodTemplate], Hashable], template: PodTemplate) -> Hashable:
    answer = method(template)
    hash(answer)
    return answer
