"""The extender process: from its configuration to its exit status."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Sequence
from typing import Any

from msgspec import structs

from stowplan import logs
from stowplan.errors import StowplanError
from stowplan.extender.handlers import GroupMember
from stowplan.extender.policy import OperatorPolicy
from stowplan.extender.server.configuration import ExtenderServerConfiguration, from_options
from stowplan.extender.server.extender import ExtenderServer
from stowplan.framework.points import implements_point
from stowplan.runtime.gc_tuning import settle_heap
from stowplan.serving.event_loop import run_on_fastest_loop
from stowplan.serving.open_files import raise_open_files_limit

log = logs.get(__name__)

_SIGNALS = ("SIGTERM", "SIGINT")


def run(members: Sequence[GroupMember], *, policy: OperatorPolicy | None = None, **options: Any) -> int:
    """Serve these plugins until a signal; for programs. `options` are the flags of `stowplan extender`, such as port,
    url_prefix or kubeconfig. A problem at start-up ends the program with a message of one line.
    """
    logs.configure(logs.LogOptions())
    has_cluster = bool(options.get("kubeconfig") or options.get("in_cluster"))
    options.setdefault("bare_names", not has_cluster)
    if any(isinstance(member.factory, type) and implements_point(member.factory, "bind") for member in members):
        options.setdefault("bind_verb", "bind")
    try:
        config = from_options(**options)
        if policy is not None:
            config = structs.replace(config, **structs.asdict(policy))
        return serve(config, members)
    except StowplanError as problem:
        sys.exit(f"stowplan: {problem}")


def serve(config: ExtenderServerConfiguration, members: Sequence[GroupMember]) -> int:
    """Serve until a signal; returns the exit status."""
    raise_open_files_limit()
    extender = ExtenderServer(config, members)
    settle_heap()
    run_on_fastest_loop(_serve(extender))
    return 0


async def _serve(extender: ExtenderServer) -> None:
    loop = asyncio.get_running_loop()
    for name in _SIGNALS:
        loop.add_signal_handler(getattr(signal, name), extender.stop)
    await extender.run()
    log.info("Every request was answered, exiting")
