"""Which kinds a scheduler watches: pods, nodes, and whatever else an enabled plugin looks up."""

from __future__ import annotations

from collections.abc import Iterable

from stowplan.api.kinds import KINDS, Kind
from stowplan.runtime import Profile

ALWAYS = ("Node", "Pod")


def kinds_read(profiles: Iterable[Profile]) -> list[Kind]:
    """In an order in which it is best to hear of them: what pods refer to before pods."""
    plugins = {plugin for profile in profiles for point in profile.points.values() for plugin in point}
    read = {kind for plugin in plugins for kind in plugin.reads}
    return [KINDS[name] for name in (*sorted(read - set(ALWAYS)), *ALWAYS)]
