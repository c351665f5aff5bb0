"""A plugin of an extender, with its weight and the pods that it applies to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stowplan.errors import ConfigError
from stowplan.extender.policy import ALL_PODS, PodSelection
from stowplan.framework import Handle, Plugin


class GroupMember:
    """One of the extender's plugins. Scores of several plugins are averaged by weight."""

    __slots__ = ("args", "factory", "name", "selector", "weight")

    def __init__(
        self,
        factory: Callable[[Any, Handle], Plugin],
        *,
        name: str = "",
        args: Any = None,
        weight: int = 1,
        selector: PodSelection = ALL_PODS,
    ) -> None:
        self.factory = factory
        self.name = name or getattr(factory, "name", "") or getattr(factory, "__name__", "plugin")
        self.args = args
        self.weight = weight
        self.selector = selector
        if weight < 1:
            raise ConfigError(f'plugin "{self.name}": its weight must be at least 1, not {weight}')
