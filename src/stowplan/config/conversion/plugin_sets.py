"""The `plugins` of a v1 profile that run the successors of an earlier release's plugins."""

from collections.abc import Mapping
from typing import Any

from stowplan.config.conversion.notices import Notices
from stowplan.config.conversion.plugin_lists import ALL, Effective
from stowplan.config.conversion.plugin_tables import (
    POINTS_OF,
    SELECTOR_SPREAD,
    VOLUME_LIMITS,
    Lists,
    OldPlugin,
    name_today,
    successor,
)
from stowplan.config.defaults import DEFAULT_WEIGHTS
from stowplan.config.types import PLUGINS_ATTRIBUTES
from stowplan.framework.points import FILTER, MULTI_POINT, PRE_FILTER, PRE_SCORE, SCORE

_WORKS_FOR = {PRE_FILTER: FILTER, PRE_SCORE: SCORE}
"""PreX points whose only purpose is the X point: both must be enabled together."""


class Modern:
    """Today's plugins at each point."""

    def __init__(self, effective: Effective, notices: Notices, *, system_spread: bool) -> None:
        """`system_spread`: PodTopologySpread had system default constraints."""
        self.cleared = effective.cleared
        self.everywhere = effective.everywhere
        self.origins: dict[str, OldPlugin] = {}
        """Score plugins: today's name to the original plugin."""
        self.lists: Lists = {
            point: tuple(self._renamed(point, entries, notices)) for point, entries in effective.lists.items()
        }
        self.spread_apart = bool(effective.names(SCORE) & SELECTOR_SPREAD)
        """Whether a separate plugin spread the pods of a service."""
        self.spreads_services = system_spread or self.spread_apart
        self._note_disabled(effective, notices)

    def names(self, point: str) -> set[str]:
        return {entry.name for entry in self.lists.get(point, ())}

    def _renamed(self, point: str, entries: tuple[OldPlugin, ...], notices: Notices) -> list[OldPlugin]:
        chosen: dict[str, OldPlugin] = {}
        for entry in entries:
            follower = successor(entry.name, point)
            if follower is not None and follower.note and (entry.path or not follower.name):
                which = entry.name if entry.path else f"default plugin {entry.name}"
                notices.add(entry.path or "$", f"{which}: {follower.note}")
            name = name_today(entry.name, point)
            if not name:
                continue
            rival = chosen.get(name)
            chosen[name] = entry if rival is None else _better(point, name, rival, entry, notices)
        if point == SCORE:
            self.origins = chosen
        return [entry._replace(name=name) for name, entry in chosen.items()]

    def _note_disabled(self, effective: Effective, notices: Notices) -> None:
        """Notices for disabled plugins that still run, since they were merged with enabled ones."""
        for point, entry in effective.disabled:
            today = name_today(entry.name, point)
            if today not in self.names(point):
                continue
            if entry.name in VOLUME_LIMITS:
                notices.add(entry.path, f"{entry.name} is a part of {today} today, which stays enabled")
            elif entry.name not in effective.names(point) and entry.name == today:
                notices.add(entry.path, f"{today} stays enabled, since it does the work of others today")


def _better(point: str, name: str, one: OldPlugin, other: OldPlugin, notices: Notices) -> OldPlugin:
    """Of two merged plugins, the one whose weight and args are kept."""
    winner, loser = (other, one) if (bool(other.path), other.weight) > (bool(one.path), one.weight) else (one, other)
    if point == SCORE and (one.path or other.path):
        text = f"{loser.name} and {winner.name} have become one plugin, {name}: weight and ways of {winner.name} stay"
        notices.add(loser.path or winner.path, text)
    return winner


def render(modern: Modern, defaults: Mapping[str, tuple[OldPlugin, ...]]) -> dict[str, Any]:
    """The `plugins` of a profile: the smallest change of today's default plugins.

    `defaults` are those of the version; they show the points that a plugin did not have.
    """
    used = {entry.name for entries in modern.lists.values() for entry in entries}
    gone = [name for name in POINTS_OF if name not in used]
    earlier = {point: {name_today(entry.name, point) for entry in entries} for point, entries in defaults.items()}
    plugins = {}
    for point in PLUGINS_ATTRIBUTES:
        enabled, disabled = _point(modern, point, earlier, gone)
        if point == MULTI_POINT:
            enabled, disabled = [_plugin(entry, bool(entry.weight)) for entry in modern.everywhere], gone
        sets = {"enabled": enabled, "disabled": [{"name": name} for name in disabled]}
        if any(sets.values()):
            plugins[point] = {field: items for field, items in sets.items() if items}
    return plugins


def _point(
    modern: Modern, point: str, earlier: Mapping[str, set[str]], gone: list[str]
) -> tuple[list[dict[str, Any]], list[str]]:
    entries = modern.lists.get(point, ())
    here = [name for name, points in POINTS_OF.items() if point in points]
    if point in modern.cleared:
        return [_plugin(entry, point == SCORE) for entry in entries], [ALL]
    own = [entry.name not in here for entry in entries]
    if own != sorted(own):  # A custom plugin runs before a default one: only the complete list expresses that.
        return [_plugin(entry, point == SCORE) for entry in entries], [name for name in here if name not in gone]
    enabled = [
        _plugin(entry, point == SCORE)
        for entry in entries
        if entry.name not in here or (point == SCORE and _weight(entry) != DEFAULT_WEIGHTS[entry.name])
    ]
    return enabled, [name for name in here if name not in gone and not _stays(modern, point, name, earlier)]


def _stays(modern: Modern, point: str, name: str, earlier: Mapping[str, set[str]]) -> bool:
    """Whether a default plugin of today is kept at a point, even if it is new there."""
    main = _WORKS_FOR.get(point)
    if name in modern.names(point) and main != SCORE:
        return True
    return name not in earlier.get(point, ()) if main is None else _stays(modern, main, name, earlier)


def _weight(entry: OldPlugin) -> int:
    return entry.weight or 1


def _plugin(entry: OldPlugin, weighted: bool) -> dict[str, Any]:
    return {"name": entry.name, "weight": _weight(entry)} if weighted else {"name": entry.name}
