"""`-o html`: a state as one HTML file with the views of the page."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Hashable
from typing import Any, TypeVar
from urllib.parse import quote

from msgspec.structs import replace

from stowplan._version import __version__
from stowplan.cli.state import State
from stowplan.cli.web_state import state_source
from stowplan.framework.explanation import Explanation, PendingPods, PlacedExplanation
from stowplan.insight.slices import Slices
from stowplan.insight.workloads import WorkloadName, WorkloadReference
from stowplan.web.owner import unchanged
from stowplan.web.report import ANSWER_PATH_SAFE, report
from stowplan.web.source import StateSource
from stowplan.web.what_if import ComparedRuns, RunMaps
from stowplan.web.wire import Hello, Indexed, ListedGroup, NodeColumns, NodeMap, PendingPage

T = TypeVar("T")

_EPOCH = "report"
_MAX_NODE_PAGES = 200
_MAX_EXPLAINED_PODS = 300
_MAX_GROUP_ROWS = 100
_OFFERED = ("history", "queue", "run", "compare")
"""Features of a source that a file has too."""


class _Directly:
    """Runs questions at once, on the caller's thread."""

    async def answer(self, begin: Callable[[], Slices[T]], revision: Callable[[], Hashable] = unchanged) -> T:
        slices = begin()
        try:
            while True:
                next(slices)
        except StopIteration as end:
            result: T = end.value
            return result

    async def read(self, function: Callable[[], T]) -> T:
        return function()


def print_report(state: State, start: str = "#/map", more: dict[str, Any] | None = None, pod: str = "") -> None:
    """Prints the report of a state to standard output. `more` are further answers by path; `pod` is explained too."""
    sys.stdout.buffer.write(state_report(state, start, more, pod))


def print_explanation(state: State, answer: Explanation | PlacedExplanation | PendingPods) -> None:
    """Prints the report of a state that opens with an explanation."""
    if isinstance(answer, PendingPods):
        namespace, _, workload = answer.workload.partition("/")
        path = f"workload/{_escaped(namespace)}/{'/'.join(map(_escaped, workload.split('/')))}"
        print_report(state, f"#/{path}" if workload else "#/pending", {path: answer} if workload else {})
        return
    path = f"{_escaped(answer.pod.namespace)}/{_escaped(answer.pod.name)}"
    print_report(state, f"#/pod/{path}", {f"explain/{path}": answer}, f"{answer.pod.namespace}/{answer.pod.name}")


def print_comparison(
    compared: ComparedRuns, maps: RunMaps, state: State | None = None, start: str = "#/compare"
) -> None:
    """Prints a report with two runs; without a state it has no other views."""
    more = {
        "compare": [replace(compared, answer=None, text=())],
        f"run/{compared.id}": compared,
        f"run/{compared.id}/maps": maps,
    }
    if state is not None:
        print_report(state, start, more)
        return
    shown = maps.after or maps.before or _NO_NODES
    answers = {"hello": _hello(compared, shown), "map": shown, "pending": _nothing_pending(), **more}
    sys.stdout.buffer.write(report(answers, start, "Comparison · Stowplan"))


_NO_NODES = NodeMap(
    epoch=_EPOCH,
    revision=1,
    time=0.0,
    resources=["cpu", "memory", "pods"],
    nodes=NodeColumns(
        name=[], labels={}, allocatable={}, requested={}, taints=Indexed(values=[], index=[]), flags=[], created=[]
    ),
)


def _hello(compared: ComparedRuns, shown: NodeMap) -> Hello:
    return Hello(
        source=f"{compared.before}, {compared.after}",
        kind="recording",
        version=__version__,
        epoch=_EPOCH,
        revision=1,
        time=0.0,
        start=0.0,
        features=["compare"],
        nodes=sum(map(bool, shown.nodes.name)),
        pods=0,
        pending=0,
    )


def _nothing_pending() -> PendingPage:
    return PendingPage(epoch=_EPOCH, revision=1, time=0.0, pods=0, groups=[])


def state_report(state: State, start: str = "#/map", more: dict[str, Any] | None = None, pod: str = "") -> bytes:
    """The report of a state: all views, with explanations of all groups of pending pods, up to a limit."""
    source = state_source(state, _Directly(), epoch=_EPOCH)
    answers = asyncio.run(_answers(source, more or {}, pod))
    return report(answers, start, f"{source.shown.name or 'Report'} · Stowplan")


async def _answers(source: StateSource, more: dict[str, Any], pod: str) -> dict[str, Any]:
    pending = await source.pending()
    answers: dict[str, Any] = {
        "map": await source.map(),
        "pods": await source.pods(),
        "pods?names": await source.pod_names(),
        "pending": pending,
        "config": await source.config(),
        "queue": await source.queue(),
    }
    if source.run is not None:
        await _add_events(source, answers)
    if source.history is not None:
        answers["history"] = source.history.since(-1.0)
    names = (
        []
        if len(source.mirror.nodes) > _MAX_NODE_PAGES
        else [node.metadata.name for node in source.mirror.nodes if node]
    )
    for name in names:
        answers[f"node/{_escaped(name)}"] = await source.node(name)
    pods: dict[str, None] = {pod: None} if pod else {}
    for group in pending.groups:
        await _add_group(source, answers, group, pods)
    for key in list(pods)[:_MAX_EXPLAINED_PODS]:
        await _add_pod(source, answers, key)
    features = [name for name in source.shown.features if name in _OFFERED]
    if any(path.startswith("compare") for path in more):
        features.append("compare")
    answers["hello"] = replace(await source.hello(), features=features)
    return {**answers, **more}


async def _add_events(source: StateSource, answers: dict[str, Any]) -> None:
    answers["run/events"] = found = await source.run_events(0)
    while (first := found.first + len(found.dt)) < found.total:
        answers[f"run/events?from={first}"] = found = await source.run_events(first)


async def _add_group(source: StateSource, answers: dict[str, Any], group: ListedGroup, pods: dict[str, None]) -> None:
    page = await source.group(group.id, 0, _MAX_GROUP_ROWS)
    answers[f"pending/{_escaped(group.id)}?from=0&count={_MAX_GROUP_ROWS}"] = page
    pods |= dict.fromkeys(group.sample)
    for workload in group.workloads:
        namespace, _, rest = workload.partition("/")
        kind, _, name = rest.partition("/")
        if name:
            path = f"workload/{_escaped(namespace)}/{_escaped(kind)}/{_escaped(name)}"
            answers[path] = await source.answers.workload(WorkloadReference(namespace, WorkloadName(kind, name)))


async def _add_pod(source: StateSource, answers: dict[str, Any], key: str) -> None:
    """The answers of a pod's page."""
    namespace, _, name = key.partition("/")
    path = f"{_escaped(namespace)}/{_escaped(name)}"
    answers[f"explain/{path}"] = explanation = await source.answers.explain(namespace, name, 5)
    answers[f"fit/{path}"] = await source.fit(namespace, name)
    if isinstance(explanation, PlacedExplanation):
        answers[f"points/{path}"] = await source.points(namespace, name)


def _escaped(text: str) -> str:
    """As the page's encodeURIComponent does."""
    return quote(text, safe=ANSWER_PATH_SAFE)
