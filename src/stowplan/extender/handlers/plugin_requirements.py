"""What can be said of plugins before the first request: which verbs they serve, and what they cannot do without."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import CodeType

from stowplan.errors import PluginError
from stowplan.extender.handlers.verb_call import Verb
from stowplan.framework import Plugin
from stowplan.framework.points import RUN_POINTS, Point, extender_verbs, implements_point

_OF_THE_CLUSTER = frozenset(
    ("pods", "requested", "node_infos", "node_info", "nominated_pods", "objects", "cluster", "counts_for")
)
"""Attributes that hold nothing true unless nodes and pods are watched."""


def verbs_of(plugin: Plugin) -> set[Verb]:
    return extender_verbs(type(plugin))


def _is_served(point: Point, binds: bool) -> bool:
    """Whether an extender runs the point. Those around Bind run only if the extender can bind pods."""
    return point.verb is not None and (binds or point.verb != "bind" or point.role == "serves")


def check(plugins: Iterable[Plugin], *, has_cache: bool) -> tuple[str, ...]:
    """Raise PluginError for a plugin that cannot be served at all; what is left of the others out is told."""
    unserved = []
    for plugin in plugins:
        if not verbs_of(plugin):
            raise PluginError(
                f'plugin "{plugin.name}" has nothing for an extender to serve: '
                "filter, score, bind or select_victims is needed"
            )
        read = "" if has_cache else reads_cluster(plugin)
        if read:
            raise PluginError(
                f'plugin "{plugin.name}" needs the nodes and pods of the cluster ({read}), which cannot be reached: '
                'name a kubeconfig, or declare scope = "node" if its answers depend on the node object alone'
            )
        binds = has_cache or implements_point(type(plugin), "bind")
        points = [p.name for p in RUN_POINTS if implements_point(type(plugin), p) and not _is_served(p, binds)]
        if points:
            unserved.append(f'{", ".join(points)} of "{plugin.name}"')
    return (f"an extender cannot serve these points, they are never called: {'; '.join(unserved)}",) if unserved else ()


def reads_cluster(plugin: Plugin) -> str:
    """How it is known that the plugin looks at more than the nodes it is shown; "" where nothing tells so.

    A plugin of node scope is taken at its word. The default scope says nothing, so what its methods name is looked at.
    """
    if plugin.reads:
        return f"reads = {plugin.reads!r}"
    if plugin.scope == "node":
        return ""
    if plugin.scope == "node+pods":
        return 'scope = "node+pods"'
    named = sorted(_OF_THE_CLUSTER.intersection(_attributes(type(plugin))))
    return f"it uses .{named[0]}" if named else ""


def _attributes(kind: type) -> Iterator[str]:
    """All names that the code of a class, up to Plugin, reads as attributes."""
    for parent in kind.__mro__:
        if parent is Plugin:
            return
        for member in vars(parent).values():
            code = getattr(getattr(member, "__func__", member), "__code__", None)
            if code is not None:
                yield from _names(code)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
