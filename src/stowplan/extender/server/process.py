"""An extender as a process: from its settings to its exit status."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Coroutine, Sequence
from typing import Any

from stowplan import logs
from stowplan.errors import StowplanError
from stowplan.extender.handlers import GroupMember, OperatorPolicy
from stowplan.extender.server.extender import ExtenderServer
from stowplan.extender.server.settings import ExtenderSettings
from stowplan.runtime.gc_tuning import settle_heap
from stowplan.serving import ServingOptions

log = logs.get(__name__)

_SIGNALS = ("SIGTERM", "SIGINT")


def run(
    members: Sequence[GroupMember],
    *,
    port: int = 8888,
    bind_address: str = "127.0.0.1",
    tls_cert_file: str = "",
    tls_private_key_file: str = "",
    policy: OperatorPolicy | None = None,
    **settings: Any,
) -> int:
    """Serve these plugins until a signal says otherwise; for programs of one's own. More `settings` are the members of
    `ExtenderSettings`, such as url_prefix or kubeconfig. A problem at the start ends the program with one line.
    """
    has_cluster = bool(settings.get("kubeconfig") or settings.get("in_cluster"))
    serving = ServingOptions(
        address=bind_address, port=port, certificate_file=tls_cert_file, key_file=tls_private_key_file
    )
    logs.configure(logs.LogOptions())
    policy = policy or OperatorPolicy(bare_names=not has_cluster)
    try:
        return serve(ExtenderSettings(members=tuple(members), policy=policy, serving=serving, **settings))
    except StowplanError as problem:
        sys.exit(f"stowplan: {problem}")


def serve(settings: ExtenderSettings) -> int:
    """Serve until a signal says otherwise; the exit status."""
    extender = ExtenderServer(settings)
    settle_heap()
    on_the_fastest_loop(_serve(extender))
    return 0


async def _serve(extender: ExtenderServer) -> None:
    loop = asyncio.get_running_loop()
    for name in _SIGNALS:
        loop.add_signal_handler(getattr(signal, name), extender.stop)
    await extender.run()
    log.info("Every request was answered, exiting")


def on_the_fastest_loop(main: Coroutine[Any, Any, None]) -> None:
    if sys.platform == "win32":
        asyncio.run(main)
        return
    import uvloop

    uvloop.run(main)
