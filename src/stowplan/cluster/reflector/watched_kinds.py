"""The kinds that a process watches: nodes, pods, and the kinds that its plugins read."""

from __future__ import annotations

from collections.abc import Iterable

from stowplan.api.kinds import KINDS, Kind
from stowplan.errors import ConfigError

REQUIRED_KINDS = ("Node", "Pod")
"""Kinds that must be synced before pods are scheduled; they must not be missing or forbidden."""


def watched_kinds(names: Iterable[str]) -> list[Kind]:
    """The named and the required kinds, in the order in which to list them: objects that pods refer to before pods.

    Raises ConfigError for unknown kinds.
    """
    read = set(names)
    unknown = sorted(read - set(KINDS))
    if unknown:
        raise ConfigError(f"a plugin reads kinds that cannot be watched: {', '.join(unknown)}")
    return [KINDS[name] for name in (*sorted(read.difference(REQUIRED_KINDS)), *REQUIRED_KINDS)]
