"""From a configuration's entries to extenders.

Upstream: pkg/scheduler/scheduler.go (buildExtenders)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from urllib.parse import urlsplit

from stowplan.cluster.errors import CredentialsError
from stowplan.config.extender_limits import ExtenderLimits
from stowplan.config.types import Extender as Entry
from stowplan.errors import ConfigError
from stowplan.extender.client.extender import HttpExtender
from stowplan.extender.client.tls import Tls
from stowplan.extender.client.transport import HttpTransport


def build_extenders(
    entries: Iterable[Entry],
    clock: Callable[[], float] = time.monotonic,
    env: Mapping[str, str] | None = None,
    limits: ExtenderLimits | None = None,
) -> tuple[HttpExtender, ...]:
    """Extenders in the order in which they are called: ignorable ones last.

    Raises ConfigError if kube-scheduler would not start. `env` has the proxies; default is the process's environment.
    """
    made = [
        HttpExtender(entry, HttpTransport(_tls(entry, f"$.extenders[{index}]", clock), env), clock, limits=limits)
        for index, entry in enumerate(entries)
    ]
    return tuple(sorted(made, key=lambda extender: extender.ignorable))


def kinds_kept(extenders: Iterable[HttpExtender]) -> frozenset[str]:
    """Of which kinds whole objects are needed: pods always, nodes where an extender does not know them itself."""
    kinds: set[str] = set()
    for extender in extenders:
        kinds.add("Pod")
        if not extender.entry.node_cache_capable and (extender.serves("filter") or extender.serves("prioritize")):
            kinds.add("Node")
    return frozenset(kinds)


def needs_victims(extenders: Iterable[HttpExtender]) -> bool:
    """Whether pods that run are sent as whole objects, too."""
    return any(extender.serves("preempt") and not extender.entry.node_cache_capable for extender in extenders)


def _tls(entry: Entry, where: str, clock: Callable[[], float]) -> Tls | None:
    """TLS settings are checked also for http://, since kube-scheduler would not start either."""
    secure = urlsplit(entry.url_prefix).scheme == "https"
    if not secure and entry.tls_config is None:
        return None
    try:
        return Tls(entry, where, clock)
    except CredentialsError as problem:
        raise ConfigError(str(problem)) from problem
