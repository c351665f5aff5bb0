"""An extender made of plain functions.

    from stowplan import extender

    @extender.filter
    def licensed(pod, node):
        return node.labels.get("licence") == "yes" or "no licence"

    extender.run(port=8888)

A function whose second parameter is named `node` is called for each node, any other is called once with the list of
nodes. Return values:

    filter, by node       True or None: the node passes. False, a text with the reason, or reject(...): it does not
    filter, all nodes     the nodes that pass, or their names; or a dict of reasons by name for the nodes that do not;
                          or True, False, a text or reject(...) for all nodes
    prioritize, by node   a number from 0 to 10
    prioritize, all       a dict of such numbers by name (0 if missing), or a list in the order of the nodes
    bind(pod, node_name)  None or True: the pod is bound. A text is an error. May be a coroutine function
    preempt(pod, victims) the victims that may be evicted: a dict of lists of pods by node, as in the argument
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from stowplan.errors import PluginError
from stowplan.extender.functions import (
    BindFunction,
    FilterFunction,
    Function,
    PreemptFunction,
    PrioritizeFunction,
    as_plugin,
)
from stowplan.extender.handlers.group_member import GroupMember
from stowplan.extender.policy import ALL_PODS, PodSelection

F = TypeVar("F", bound=Function)


class App:
    """Registered functions, called in order: a node must pass all filters, and scores are averaged by weight. The
    module's own decorators share one App."""

    def __init__(self) -> None:
        self.members: list[GroupMember] = []

    @overload
    def filter(self, function: F) -> F: ...
    @overload
    def filter(self, *, selector: PodSelection = ...) -> Callable[[F], F]: ...
    def filter(self, function: Function | None = None, *, selector: PodSelection = ALL_PODS) -> Any:
        """Register a function that filters nodes. With a selector it is called for the selected pods only."""
        return self._register(FilterFunction, function, selector)

    @overload
    def prioritize(self, function: F) -> F: ...
    @overload
    def prioritize(self, *, weight: int = ..., selector: PodSelection = ...) -> Callable[[F], F]: ...
    def prioritize(
        self, function: Function | None = None, *, weight: int = 1, selector: PodSelection = ALL_PODS
    ) -> Any:
        """Register a function that scores nodes from 0 to 10."""
        return self._register(PrioritizeFunction, function, selector, weight)

    @overload
    def bind(self, function: F) -> F: ...
    @overload
    def bind(self, *, selector: PodSelection = ...) -> Callable[[F], F]: ...
    def bind(self, function: Function | None = None, *, selector: PodSelection = ALL_PODS) -> Any:
        """Register a function that binds pods."""
        return self._register(BindFunction, function, selector)

    @overload
    def preempt(self, function: F) -> F: ...
    @overload
    def preempt(self, *, selector: PodSelection = ...) -> Callable[[F], F]: ...
    def preempt(self, function: Function | None = None, *, selector: PodSelection = ALL_PODS) -> Any:
        """Register a function that selects which of the proposed victims may be evicted."""
        return self._register(PreemptFunction, function, selector)

    def run(self, **options: Any) -> None:
        """Serve until SIGTERM or SIGINT. Options: the flags of `stowplan extender`, such as `port`, `bind_address`,
        `tls_cert_file`, `url_prefix`, `kubeconfig` or `log_requests`; and a `policy`."""
        if not self.members:
            raise PluginError("no function is registered: decorate one with @extender.filter or @extender.prioritize")
        from stowplan.extender.server.process import run

        run(self.members, **options)

    def _register(self, kind: Any, function: Function | None, selector: PodSelection, weight: int = 1) -> Any:
        def register(function: F) -> F:
            self.members.append(GroupMember(as_plugin(kind, function), weight=weight, selector=selector))
            return function

        return register if function is None else register(function)


_shared = App()
filter = _shared.filter
prioritize = _shared.prioritize
bind = _shared.bind
preempt = _shared.preempt
run = _shared.run
