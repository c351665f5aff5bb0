"""The plugins of a configuration as a scheduler of its release would run them."""

from collections.abc import Mapping
from typing import Any

from stowplan.config.conversion.notices import Notices
from stowplan.config.conversion.plugin_tables import POINTS_OF, Lists, OldPlugin
from stowplan.framework.points import MULTI_POINT, RESERVE

ALL = "*"
_UNRESERVE = "unreserve"
_NORMALIZE_SCORE = "normalizeScore"


class Effective:
    """The plugins of every point in an earlier release."""

    def __init__(self, defaults: Mapping[str, tuple[OldPlugin, ...]]) -> None:
        self.lists: Lists = dict(defaults)
        self.cleared: set[str] = set()
        """Points with all defaults disabled."""
        self.everywhere: list[OldPlugin] = []
        """Plugins of multiPoint; their points are unknown here."""
        self.disabled: list[tuple[str, OldPlugin]] = []
        """Disabled plugins by point."""

    def names(self, point: str) -> set[str]:
        return {entry.name for entry in self.lists.get(point, ())}

    def without(self, name: str) -> None:
        """Remove a plugin from all points."""
        for point, entries in self.lists.items():
            self.lists[point] = tuple(entry for entry in entries if entry.name != name)

    def apply(self, plugins: Mapping[str, Any], path: str, points: Mapping[str, str], notices: Notices) -> None:
        """Apply the `plugins` of a profile. `points` maps renamed points to today's."""
        for name, plugin_set in plugins.items():
            where = f"{path}.{name}"
            enabled = _entries(plugin_set, "enabled", where)
            disabled = _entries(plugin_set, "disabled", where)
            if name in points and (enabled or disabled):
                notices.add(where, f"in this version {name} means what {points[name]} means today")
            if name == MULTI_POINT:
                self._everywhere(enabled, where, disabled, notices)
            elif name == _UNRESERVE:
                self._unreserve(enabled, notices)
            elif name == _NORMALIZE_SCORE:
                for entry in enabled:
                    notices.add(entry.path, "scores are normalised by the plugin that gives them: enable it at score")
            else:
                self._change(points.get(name, name), enabled, disabled)

    def _change(self, point: str, enabled: list[OldPlugin], disabled: list[OldPlugin]) -> None:
        names = {entry.name for entry in disabled}
        if ALL in names:
            self.cleared.add(point)
        self.disabled += [(point, entry) for entry in disabled if entry.name != ALL]
        kept = () if ALL in names else tuple(e for e in self.lists.get(point, ()) if e.name not in names)
        given = {entry.name: entry for entry in enabled}
        replaced = tuple(given.pop(entry.name, entry) for entry in kept)
        self.lists[point] = (*replaced, *given.values())

    def _unreserve(self, enabled: list[OldPlugin], notices: Notices) -> None:
        for entry in enabled:
            if entry.name in self.names(RESERVE):
                continue
            notices.add(
                entry.path, "unreserve belongs to reserve today: the plugin is enabled there, and its reserve runs too"
            )
            self.lists[RESERVE] = (*self.lists.get(RESERVE, ()), entry)

    def _everywhere(self, enabled: list[OldPlugin], path: str, disabled: list[OldPlugin], notices: Notices) -> None:
        if disabled:
            notices.add(f"{path}.disabled", "has no effect in this version, and is left out")
        for entry in enabled:
            for point in POINTS_OF.get(entry.name, ()):
                if entry.name not in self.names(point):
                    self.lists[point] = (*self.lists.get(point, ()), entry)
        self.everywhere += [entry for entry in enabled if entry.name not in POINTS_OF]


def _entries(plugin_set: Mapping[str, Any], field: str, path: str) -> list[OldPlugin]:
    return [
        OldPlugin(plugin.get("name", ""), plugin.get("weight", 0), f"{path}.{field}[{index}]")
        for index, plugin in enumerate(plugin_set.get(field, ()))
    ]
