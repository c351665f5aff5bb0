"""Paths of the verbs."""

from __future__ import annotations

import re
from collections.abc import Mapping

from stowplan.errors import ConfigError
from stowplan.extender.handlers import VERBS, Verb

_PLAIN = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:@/-]*")
_OLD_VERSION = "v1"
"""Path segment that releases before v1.6 insert between prefix and verb."""


class Paths:
    """A prefix and a name for each verb, both as in the scheduler's configuration.

    Doubled and trailing slashes are ignored, since schedulers join prefix and verb as they are.
    """

    def __init__(self, prefix: str = "", names: Mapping[Verb, str] | None = None) -> None:
        """An empty name disables a verb. Verbs that `names` lacks have their own name, except bind, which is disabled.
        Raises ConfigError."""
        given = {**{verb: str(verb) for verb in VERBS}, "bind": "", **(names or {})}
        self.by_verb: dict[Verb, str] = {}
        self._verbs: dict[str, Verb] = {}
        _check(prefix, "the URL prefix")
        for verb in VERBS:
            if not given[verb]:
                continue
            _check(given[verb], f"the name of the {verb} verb")
            path = self.by_verb[verb] = _plain(f"{prefix}/{given[verb]}")
            for accepted in (path, _plain(f"{prefix}/{_OLD_VERSION}/{given[verb]}")):
                other = self._verbs.setdefault(accepted, verb)
                if other != verb:
                    raise ConfigError(f"{accepted}: the verbs {other} and {verb} have the same path")
        if not self.by_verb:
            raise ConfigError("all verbs are switched off: name at least one")

    def find(self, path: str) -> Verb | None:
        """The verb of a path; None without one."""
        found = self._verbs.get(path)
        return found if found is not None else self._verbs.get(_plain(path))

    def listing(self) -> str:
        """All paths, in one line."""
        return ", ".join(f"{path} ({verb})" for verb, path in self.by_verb.items())


def _plain(path: str) -> str:
    return "/" + "/".join(part for part in path.split("/") if part)


def _check(text: str, what: str) -> None:
    if not _PLAIN.fullmatch(text):
        raise ConfigError(f"{what}: {text!r}: a path has no room for such characters")
    if any(part in (".", "..") for part in text.split("/")):
        raise ConfigError(f"{what}: {text!r}: a path may not lead upwards")
