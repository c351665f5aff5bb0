"""Checks of plugins at start-up: which verbs they serve, and whether they can be served without a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import CodeType

from stowplan.errors import PluginError
from stowplan.extender.handlers.verb_call import Verb
from stowplan.framework import Plugin
from stowplan.framework.points import POINTS, Point, extender_verbs, implements_point

_OF_THE_CLUSTER = frozenset(
    ("pods", "requested", "node_infos", "node_info", "nominated_pods", "objects", "cluster", "counts_for")
)
"""Attributes that are empty or wrong unless nodes and pods are watched."""


BIND_IS_DISABLED = "the bind verb is disabled: name it to enable it (--bind-verb bind)"


def verbs_of(plugin: Plugin) -> set[Verb]:
    return extender_verbs(type(plugin))


def _is_served(point: Point, can_bind: bool) -> bool:
    """Whether an extender runs the point. Points around Bind run only if the extender can bind pods."""
    return point.verb is not None and (can_bind or point.verb != "bind" or point.role == "serves")


def check(plugins: Iterable[Plugin], *, has_cache: bool, binds: bool) -> tuple[str, ...]:
    """Raise PluginError for a plugin that cannot be served at all. Returns warnings about points that never run."""
    unserved, disabled = [], []
    for plugin in plugins:
        if not verbs_of(plugin):
            raise PluginError(
                f'plugin "{plugin.name}" has nothing for an extender to serve: '
                "filter, score, bind or select_victims is needed"
            )
        if not binds and verbs_of(plugin) == {"bind"}:
            raise PluginError(f'plugin "{plugin.name}" binds pods, and {BIND_IS_DISABLED}')
        read = "" if has_cache else reads_cluster(plugin)
        if read:
            raise PluginError(
                f'plugin "{plugin.name}" needs the nodes and pods of the cluster ({read}), which cannot be reached: '
                'name a kubeconfig, or declare scope = "node" if its answers depend on the node object alone'
            )
        can_bind = has_cache or implements_point(type(plugin), "bind")
        implemented = [point for point in POINTS if implements_point(type(plugin), point)]
        points = [point.name for point in implemented if not _is_served(point, can_bind)]
        if points:
            unserved.append(f'{", ".join(points)} of "{plugin.name}"')
        elif not binds and (points := [point.name for point in implemented if point.verb == "bind"]):
            disabled.append(f'{", ".join(points)} of "{plugin.name}"')
    warnings = []
    if unserved:
        warnings.append(f"an extender cannot serve these points, they are never called: {'; '.join(unserved)}")
    if disabled:
        warnings.append(f"{BIND_IS_DISABLED}, so these points are never called: {'; '.join(disabled)}")
    return tuple(warnings)


def reads_cluster(plugin: Plugin | type[Plugin]) -> str:
    """Why the plugin needs more than the nodes of a request; "" if it does not.

    Plugins with scope "node" do not. With the default scope, the attributes that its methods use decide.
    """
    if plugin.reads:
        return f"reads = {plugin.reads!r}"
    if plugin.scope == "node":
        return ""
    if plugin.scope == "node+pods":
        return 'scope = "node+pods"'
    named = sorted(_OF_THE_CLUSTER.intersection(_attributes(plugin if isinstance(plugin, type) else type(plugin))))
    return f"it uses .{named[0]}" if named else ""


def _attributes(kind: type) -> Iterator[str]:
    """Names of attributes in the code of a class and its bases, up to Plugin."""
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
