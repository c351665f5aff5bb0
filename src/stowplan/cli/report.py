"""`-o html`: a state as one HTML file with the views of the page."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Hashable
from typing import Any, TypeVar
from urllib.parse import quote

from msgspec.structs import replace

from stowplan.cli.state import State
from stowplan.cli.web_state import state_source
from stowplan.insight.slices import Slices
from stowplan.web.owner import unchanged
from stowplan.web.report import report
from stowplan.web.source import StateSource
from stowplan.web.wire import ListedGroup

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


def print_report(state: State, start: str = "#/map", more: dict[str, Any] | None = None) -> None:
    """Prints the report of a state to standard output. `more` are further answers by path."""
    sys.stdout.buffer.write(state_report(state, start, more))


def state_report(state: State, start: str = "#/map", more: dict[str, Any] | None = None) -> bytes:
    """The report of a state: all views, with explanations of all groups of pending pods, up to a limit."""
    source = state_source(state, _Directly(), epoch=_EPOCH)
    answers = asyncio.run(_answers(source, more or {}))
    return report(answers, start, f"{source.shown.name or 'Report'} · Stowplan")


async def _answers(source: StateSource, more: dict[str, Any]) -> dict[str, Any]:
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
        answers["run/events"] = await source.run_events(0)
    if source.history is not None:
        answers["history"] = source.history.since(-1.0)
    names = (
        []
        if len(source.mirror.nodes) > _MAX_NODE_PAGES
        else [node.metadata.name for node in source.mirror.nodes if node]
    )
    for name in names:
        answers[f"node/{_escaped(name)}"] = await source.node(name)
    pods: dict[str, None] = {}
    for group in pending.groups:
        await _add_group(source, answers, group, pods)
    for key in list(pods)[:_MAX_EXPLAINED_PODS]:
        await add_pod(source, answers, key)
    features = [name for name in source.shown.features if name in _OFFERED]
    if any(path.startswith("compare") for path in more):
        features.append("compare")
    answers["hello"] = replace(await source.hello(), features=features)
    return {**answers, **more}


async def _add_group(source: StateSource, answers: dict[str, Any], group: ListedGroup, pods: dict[str, None]) -> None:
    page = await source.group(group.id, 0, _MAX_GROUP_ROWS)
    answers[f"pending/{_escaped(group.id)}?from=0&count={_MAX_GROUP_ROWS}"] = page
    pods |= dict.fromkeys(group.sample)
    for workload in group.workloads:
        namespace, _, rest = workload.partition("/")
        kind, _, name = rest.partition("/")
        if name:
            from stowplan.insight.workloads import Workload, WorkloadReference

            path = f"workload/{_escaped(namespace)}/{_escaped(kind)}/{_escaped(name)}"
            answers[path] = await source.answers.workload(WorkloadReference(namespace, Workload(kind, name)))


async def add_pod(source: StateSource, answers: dict[str, Any], key: str) -> None:
    """The answers of a pod's page."""
    namespace, _, name = key.partition("/")
    path = f"{_escaped(namespace)}/{_escaped(name)}"
    answers[f"explain/{path}"] = await source.answers.explain(namespace, name, 5)
    answers[f"fit/{path}"] = await source.fit(namespace, name)


def _escaped(text: str) -> str:
    """As the page's encodeURIComponent does."""
    return quote(text, safe="!'()*~-._")
