"""Extension points: the configuration's names for them and the methods that serve them."""

from __future__ import annotations

from stowplan.framework import implements

METHODS: dict[str, tuple[str, ...]] = {
    "preEnqueue": ("pre_enqueue",),
    "queueSort": ("less",),
    "preFilter": ("pre_filter",),
    "filter": ("filter", "filter_nodes"),
    "postFilter": ("post_filter",),
    "preScore": ("pre_score",),
    "score": ("score", "score_nodes"),
    "reserve": ("reserve", "unreserve"),
    "permit": ("permit",),
    "preBind": ("pre_bind",),
    "bind": ("bind",),
    "postBind": ("post_bind",),
}
"""A class implements a point if it overrides any of the methods. Points that are absent nobody implements yet."""


def implements_point(cls: type, point: str) -> bool:
    return any(implements(cls, method) for method in METHODS.get(point, ()))
