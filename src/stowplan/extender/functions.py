"""Plain functions as plugins."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from stowplan import logs
from stowplan.extender.scaling import MAX_EXTENDER_PRIORITY
from stowplan.framework import CycleState, Mask, NodeInfo, Nodes, Plugin, Pod, Status, error, reject

Function = Callable[..., Any]

log = logs.get(__name__)


class _FunctionPlugin(Plugin):
    function: ClassVar[Function]
    """The registered function."""
    node_by_node: ClassVar[bool] = False

    def _infos(self, nodes: Nodes) -> list[NodeInfo]:
        return [info for _, info in nodes.infos()]

    def _wrong(self, answer: object, expected: str) -> TypeError:
        return TypeError(f"{self.name} returned {answer!r:.100}, expected {expected}")


class FilterFunction(_FunctionPlugin):
    def filter_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Iterator[tuple[Mask, Status]]:
        infos = self._infos(nodes)
        masks: dict[Status, Mask] = {}
        for position, status in enumerate(self._statuses(pod, infos)):
            if status is not None:
                masks.setdefault(status, np.zeros(len(nodes), dtype=np.bool_))[position] = True
        for status, mask in masks.items():
            yield mask, status

    def _statuses(self, pod: Pod, infos: list[NodeInfo]) -> list[Status | None]:
        if self.node_by_node:
            return [self._status(type(self).function(pod, info)) for info in infos]
        answer = type(self).function(pod, infos)
        if isinstance(answer, bool | str | Status):
            return [self._status(answer)] * len(infos)
        if isinstance(answer, Mapping):
            return [self._status(answer.get(info.name)) for info in infos]
        if not isinstance(answer, Iterable):
            raise self._wrong(answer, "the nodes that pass, or reasons by name")
        passing = {node.name if isinstance(node, NodeInfo) else node for node in answer}
        refusal = self._status(False)
        return [None if info.name in passing else refusal for info in infos]

    def _status(self, answer: object) -> Status | None:
        if answer is None or answer is True:
            return None
        if answer is False:
            return reject(f"not chosen by {self.name}")
        if isinstance(answer, Status):
            return answer if answer.code else None
        if isinstance(answer, str):
            return reject(answer)
        raise self._wrong(answer, "True, False, a reason or None")


class PrioritizeFunction(_FunctionPlugin):
    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Any:
        """Scores of 0..10 as the runtime takes them, 0..100."""
        infos = self._infos(nodes)
        given = np.array([float(score) for score in self._scores(pod, infos)], dtype=np.float64)
        if len(given) != len(infos):
            raise self._wrong(list(given), f"{len(infos)} scores")
        if len(given) and not (given.min() >= 0 and given.max() <= MAX_EXTENDER_PRIORITY):
            log.warning(
                "Scores outside of the range are cut",
                function=self.name,
                range=f"0..{MAX_EXTENDER_PRIORITY}",
                lowest=float(given.min()),
                highest=float(given.max()),
            )
        return np.clip(given, 0, MAX_EXTENDER_PRIORITY) * 10

    def _scores(self, pod: Pod, infos: list[NodeInfo]) -> Iterable[Any]:
        if self.node_by_node:
            return [type(self).function(pod, info) for info in infos]
        answer = type(self).function(pod, infos)
        if isinstance(answer, Mapping):
            return [answer.get(info.name, 0) for info in infos]
        if isinstance(answer, str) or not isinstance(answer, Iterable):
            raise self._wrong(answer, "scores by name, or one for each node")
        return list(answer)


class BindFunction(_FunctionPlugin):
    def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | Awaitable[Status | None] | None:
        answer = type(self).function(pod, node_name)
        return self._later(answer) if isinstance(answer, Awaitable) else self._status(answer)

    async def _later(self, answer: Awaitable[object]) -> Status | None:
        return self._status(await answer)

    def _status(self, answer: object) -> Status | None:
        if answer is None or answer is True:
            return None
        if isinstance(answer, Status):
            return answer
        if isinstance(answer, str):
            return error(answer)
        raise self._wrong(answer, "None or an error")


class PreemptFunction(_FunctionPlugin):
    def select_victims(
        self, state: CycleState, pod: Pod, victims: Mapping[str, Iterable[Pod]]
    ) -> Mapping[str, Iterable[Pod]]:
        answer = type(self).function(pod, {node: list(pods) for node, pods in victims.items()})
        if not isinstance(answer, Mapping):
            raise self._wrong(answer, "victims by node")
        return answer


def as_plugin(kind: type[_FunctionPlugin], function: Function) -> type[Plugin]:
    """A class of its own for a function, named like it."""
    parameters = list(inspect.signature(function).parameters)
    members = {
        "name": function.__name__,
        "function": staticmethod(function),
        "node_by_node": len(parameters) > 1 and parameters[1] == "node",
        "__doc__": function.__doc__,
    }
    return type(function.__name__, (kind,), members)
