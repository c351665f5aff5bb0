"""Which kinds a scheduler watches: pods, nodes, and whatever else an enabled plugin looks up."""

from __future__ import annotations

from collections.abc import Iterable

from stowplan.api.kinds import KINDS, Kind
from stowplan.runtime import Profile

ALWAYS = ("Node", "Pod")


def kinds_read(profiles: Iterable[Profile], taint_rules: bool = False) -> list[Kind]:
    """In an order in which it is best to hear of them: what pods refer to before pods.

    With slices of devices come the rules that taint them, where `taint_rules` are to be followed.
    """
    plugins = {plugin for profile in profiles for point in profile.points.values() for plugin in point}
    read = {kind for plugin in plugins for kind in plugin.reads}
    if taint_rules and "ResourceSlice" in read:
        read.add("DeviceTaintRule")
    return [KINDS[name] for name in (*sorted(read - set(ALWAYS)), *ALWAYS)]
