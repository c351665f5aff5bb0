"""An extender for tests: answers what it is told to, and remembers what it was asked."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from stowplan.framework import Pod
from stowplan.framework.extender import CallExtender, ExtenderVerb


class FakeExtender:
    """`answers` holds, by verb, a function of (pod, argument)."""

    def __init__(
        self,
        name: str = "fake",
        *,
        weight: int = 1,
        ignorable: bool = False,
        interested: Callable[[Pod], bool] = lambda pod: True,
        **answers: Callable[[Pod, Any], Any],
    ) -> None:
        self.name = name
        self.weight = weight
        self.ignorable = ignorable
        self._interested = interested
        self._answers = answers
        self.asked: list[tuple[str, str, Any]] = []

    def serves(self, verb: ExtenderVerb) -> bool:
        return verb in self._answers

    def is_interested(self, pod: Pod) -> bool:
        return self._interested(pod)

    def answer(self, call: CallExtender) -> Any:
        argument = sorted(call.argument) if isinstance(call.argument, Collection) else call.argument
        self.asked.append((call.verb, call.pod.name, argument))
        return self._answers[call.verb](call.pod, call.argument)
