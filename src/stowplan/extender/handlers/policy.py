"""What the operator decides: which pods a plugin is for, and what happens where plugins have no answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from stowplan.api import LabelSelector
from stowplan.api.selectors import compile_label_selector
from stowplan.errors import ConfigError
from stowplan.extender.handlers.verb_call import Verb
from stowplan.framework import Handle, Plugin, Pod

OnFailure = Literal["fail", "pass", "cached"]
"""The pod's attempt fails; the request is answered as if the plugins agreed with everything; or the last answer for the
pod is given again, as far as there is one, else the attempt fails."""

SYSTEM_CRITICAL = 2_000_000_000
"""Priorities from here on belong to what the cluster cannot do without."""

_LARGEST_SHARE, _LEAST_MARGIN = 0.9, 0.05


class PodSelection(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Which pods are meant: all that is given must hold. With nothing given all pods are."""

    namespaces: tuple[str, ...] = ()
    labels: LabelSelector = LabelSelector()
    resources: tuple[str, ...] = ()
    """The pod requests at least one of these."""
    scheduler_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        compile_label_selector(self.labels)  # What is wrong with it is to be told at the start.

    def matches(self, pod: Pod) -> bool:
        requests = pod.template.requests
        return (
            (not self.namespaces or pod.namespace in self.namespaces)
            and (not self.scheduler_names or pod.spec.scheduler_name in self.scheduler_names)
            and (not self.resources or any(requests.get(resource) for resource in self.resources))
            and compile_label_selector(self.labels).matches(pod.labels)
        )


EVERYBODY = PodSelection()


class GroupMember:
    """A plugin behind the extender's prefix. Scores of several are averaged by weight."""

    __slots__ = ("args", "factory", "name", "selector", "weight")

    def __init__(
        self,
        factory: Callable[[Any, Handle], Plugin],
        *,
        name: str = "",
        args: Any = None,
        weight: int = 1,
        selector: PodSelection = EVERYBODY,
    ) -> None:
        self.factory = factory
        self.name = name or getattr(factory, "name", "") or getattr(factory, "__name__", "plugin")
        self.args = args
        self.weight = weight
        self.selector = selector
        if weight < 1:
            raise ConfigError(f'plugin "{self.name}": its weight must be at least 1, not {weight}')


class OperatorPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How requests are answered, whatever the plugins are."""

    on_failure: Mapping[Verb, OnFailure] = {}
    """By verb; "fail" where nothing is given. A failed `prioritize` gives all nodes the same score in any case."""
    http_timeout: float | None = 5.0
    """The scheduler's `httpTimeout` in seconds: a fallback leaves before it. None waits for ever."""
    shadow: bool = False
    """Work everything out and tell of it, but reject nothing and prefer nothing."""
    own_pods: PodSelection | None = None
    """Pods that the extender itself runs in: they are never rejected, or else it could not come back."""
    spare_critical: bool = False
    """Never reject pods of system-critical priority, either."""
    lower_case: bool = False
    """Write the keys of replies as the oldest releases spelt them."""
    bare_names: bool = False
    """Where requests name nodes and nothing more is known of them, judge them by their names."""

    def __post_init__(self) -> None:
        if self.on_failure.get("bind", "fail") != "fail":
            raise ConfigError('the failure policy of bind can only be "fail": nobody else would bind the pod')
        if self.http_timeout is not None and self.http_timeout <= 0:
            raise ConfigError(f"the HTTP timeout must be more than 0 seconds, not {self.http_timeout:g}")

    @property
    def budget(self) -> float | None:
        """Seconds from the arrival of a request to the moment when an answer has to leave."""
        if self.http_timeout is None:
            return None
        return max(self.http_timeout / 2, min(self.http_timeout * _LARGEST_SHARE, self.http_timeout - _LEAST_MARGIN))

    def spares(self, pod: Pod) -> bool:
        """Whether nothing may keep this pod from running."""
        if self.own_pods is not None and self.own_pods.matches(pod):
            return True
        return self.spare_critical and pod.priority >= SYSTEM_CRITICAL
