"""The default and optional plugins: extension points, weights, reasons, args, and registered events."""

import sys
from collections.abc import Iterator
from functools import cache

from tests.builders import World
from tests.docs.reference.configuration import args
from tests.docs.reference.tables import code, table

from stowplan.config.args import ARGS
from stowplan.config.defaults import DEFAULT_WEIGHTS
from stowplan.framework import Action, Plugin, Status, implements
from stowplan.framework.points import RUN_POINTS, implements_point
from stowplan.optional_plugins.registry import MODULES, optional_classes
from stowplan.plugins.registry import REGISTRY
from stowplan.runtime.profile.build import instantiate
from stowplan.runtime.profile.handle import ProfileHandle

ROOMS = ("stowplan.plugins", "stowplan.optional_plugins")
_SUMS = (Action.Update, Action.All)


def overview() -> str:
    """All default plugins in order."""
    rows = []
    for name, weight in DEFAULT_WEIGHTS.items():
        rows.append((f"[{name}](#{name.lower()})", ", ".join(_points(REGISTRY[name])), str(weight) if weight else ""))
    return table(("plugin", "extension points", "weight"), rows)


def optional_overview() -> str:
    """All optional plugins, sorted."""
    rows = [(f"[{name}](#{name.lower()})", ", ".join(_points(_class(name)))) for name in sorted(MODULES)]
    return table(("plugin", "extension points"), rows)


def facts(name: str) -> str:
    """The generated part of one plugin."""
    plugin = {**REGISTRY, **optional_classes([name])}[name]
    parts = [f"Extension points: {', '.join(_points(plugin))}."]
    if DEFAULT_WEIGHTS.get(name):
        parts[0] += f" Weight {DEFAULT_WEIGHTS[name]}."
    reasons = sorted({(reason, status.code.name) for status in _statuses(plugin) for reason in status.reasons})
    if reasons:
        parts.append(table(("reason", "code"), [(code(reason), verdict) for reason, verdict in reasons]))
    if name in ARGS and ARGS[name].__struct_fields__:
        parts.append(f"Args (`{ARGS[name].__name__}`):\n\n{args(name)}")
    events = list(_registered(plugin))
    if events:
        parts.append(f"Registers for: {', '.join(events)}.")
    return "\n\n".join(parts)


def _points(plugin: type[Plugin]) -> list[str]:
    return [point.go_name for point in RUN_POINTS if implements_point(plugin, point)]


def _statuses(plugin: type[Plugin]) -> Iterator[Status]:
    """The statuses that are constants in the plugin's modules."""
    room = next(room for room in ROOMS if plugin.__module__.startswith(f"{room}."))
    home = plugin.__module__.removeprefix(f"{room}.").partition(".")[0]
    for name, module in tuple(sys.modules.items()):
        if f"{name}.".startswith(f"{room}.{home}."):
            for value in vars(module).values():
                for status in value.values() if isinstance(value, dict) else (value,):
                    if isinstance(status, Status) and status.plugin == plugin.name:
                        yield status


@cache
def _instances() -> dict[str, Plugin]:
    """Each plugin as built by the default profile, and the optional ones that register for events."""
    optional = optional_classes(name for name in MODULES if implements(_class(name), "events_to_register"))
    world = World()
    handle = ProfileHandle("default-scheduler", world.cluster, world.nominator)
    found: dict[str, Plugin] = {name: instantiate(kind, name, None, handle) for name, kind in optional.items()}
    return found | {plugin.name: plugin for plugins in world.profile.points.values() for plugin in plugins}


def _class(name: str) -> type[Plugin]:
    return optional_classes([name])[name]


def _registered(plugin: type[Plugin]) -> Iterator[str]:
    if not implements(plugin, "events_to_register"):
        return
    for registration in _instances()[plugin.name].events_to_register():
        event = registration.event
        rest, words = event.action, []
        for action in (Action.Update, *(a for a in Action if a not in _SUMS)):
            if rest & action == action:
                words.append(action.name or "")
                rest &= ~action
        yield f"{event.resource.rpartition('/')[2]} {'/'.join(sorted(words))}"
