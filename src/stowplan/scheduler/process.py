"""The scheduler process: from options to exit status.

Upstream: cmd/kube-scheduler/app/server.go
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from stowplan import logs
from stowplan._version import KUBERNETES_VERSION, __version__
from stowplan.cluster.client import Client
from stowplan.cluster.connection import Connection
from stowplan.cluster.errors import ApiError, ClusterError, CredentialsError, UntrustedServerError
from stowplan.cluster.kubeconfig import load_connection
from stowplan.config.dump import to_yaml
from stowplan.config.options import Options
from stowplan.errors import ConfigError, StowplanError
from stowplan.extender.client import HttpExtender, build_extenders
from stowplan.observe.extender_metrics import ExtenderMetrics
from stowplan.plugins.registry import REGISTRY
from stowplan.runtime import Factory, enable_everywhere
from stowplan.scheduler.dumper import dump
from stowplan.scheduler.monitoring import Monitor
from stowplan.scheduler.scheduler import Scheduler, SchedulerSettings, now
from stowplan.serving.open_files import raise_open_files_limit

EXIT_DONE, EXIT_FAILED = 0, 1
_CHECK_TIMEOUT_SECONDS = 5.0

log = logs.get(__name__)


def run(options: Options, registered: Mapping[str, Factory], enabled: Mapping[str, Factory]) -> int:
    """Run a scheduler until it is terminated. Returns the exit status.

    `registered` plugins may be named in the configuration; `enabled` ones run in every profile.
    """
    logs.configure(options.logs)
    options = replace(options, config=enable_everywhere(options.config, enabled))
    if options.write_config_to:
        _write(options.write_config_to, to_yaml(options.config))
        log.info("Wrote configuration to", file=options.write_config_to)
        return EXIT_DONE
    for warning in options.warnings:
        log.warning(warning)
    extenders = build_extenders(options.config.extenders, patience=options.extender_limits)
    for extender in extenders:
        log.v(2, "Creating extender", extender=extender.name)
    plugins = {**registered, **enabled}
    settings = SchedulerSettings(
        options=options,
        registry={**REGISTRY, **plugins},
        connection=load_connection(options.config.client_connection.kubeconfig, options.master),
        keep_objects=any(getattr(factory, "needs_objects", False) for factory in plugins.values()),
        extenders=extenders,
    )
    raise_open_files_limit()
    log.info("Starting Kubernetes Scheduler", version=KUBERNETES_VERSION, stowplan=__version__)
    return _run_on_uvloop(_run(settings))


def _write(file: str, text: str) -> None:
    try:
        Path(file).write_text(text)
    except OSError as problem:
        raise ConfigError(f"--write-config-to: open {file}: {(problem.strerror or str(problem)).lower()}") from problem


def _run_on_uvloop(main: Coroutine[Any, Any, int]) -> int:
    if sys.platform == "win32":
        return asyncio.run(main)
    import uvloop

    return uvloop.run(main)


async def _run(settings: SchedulerSettings) -> int:
    connection = settings.connection
    monitor = Monitor(settings.options, f"{connection.host}:{connection.port}", now)
    observer = monitor.observer
    scheduler = Scheduler(settings, observer, on_request=monitor.requests.note, on_batch=observer.events_handled)
    asyncio.get_running_loop().set_exception_handler(log_loop_error)
    checking = asyncio.ensure_future(_check_connection(connection))
    handle_signals(scheduler, monitor, checking)
    await asyncio.wait([checking])
    if not checking.cancelled():
        checking.result()
        await _serve_and_schedule(scheduler, monitor, settings)
    if scheduler.lost_lease:
        log.error(None, "Leaderelection lost")
        return EXIT_FAILED
    log.info("Requested to terminate, exiting")
    return EXIT_DONE


async def _serve_and_schedule(scheduler: Scheduler, monitor: Monitor, settings: SchedulerSettings) -> None:
    monitor.watch(scheduler)
    if monitor.extenders is not None:
        count_calls(settings.extenders, monitor.extenders)
    await asyncio.to_thread(monitor.start)
    try:
        await scheduler.run()
    finally:
        await asyncio.to_thread(monitor.stop)


def count_calls(extenders: Sequence[HttpExtender], metrics: ExtenderMetrics) -> None:
    for extender in extenders:
        extender.observe = metrics.note
    metrics.open_circuits = lambda: {(each.name, verb): 1.0 for each in extenders for verb in each.open_circuits}


async def _check_connection(connection: Connection) -> None:
    """Raise errors that retrying does not fix; an unreachable server is only logged."""
    client = Client(connection)
    try:
        async with asyncio.timeout(_CHECK_TIMEOUT_SECONDS):
            await client.get("/version")
    except (UntrustedServerError, CredentialsError):
        raise
    except ApiError as refusal:
        if refusal.status == 401:
            raise ConfigError(f"{connection.url}: the credentials are refused: {refusal.message}") from refusal
    except (ClusterError, TimeoutError) as problem:
        why = str(problem) or "no reply in time"
        log.warning("The API server does not answer yet", server=connection.url, err=why)
    finally:
        await client.close()


def handle_signals(scheduler: Scheduler, monitor: Monitor, starting: asyncio.Future[None]) -> None:
    """SIGTERM and SIGINT stop the scheduler, also while it is `starting`; SIGUSR2 dumps cache and queue to the log."""
    loop = asyncio.get_running_loop()

    def end() -> None:
        monitor.ending = True
        scheduler.stop()
        starting.cancel()

    actions: dict[str, Callable[[], None]] = {
        "SIGTERM": end,
        "SIGINT": end,
        "SIGUSR2": lambda: dump(scheduler.engine),
    }
    for name, action in actions.items():
        number = getattr(signal, name, None)
        if number is not None:
            loop.add_signal_handler(number, action)


def log_loop_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log broken connections in one line; their users are notified separately."""
    if "transport" in context:
        log.warning("A connection broke", err=f"{context['message']}: {context.get('exception')}")
    else:
        loop.default_exception_handler(context)


def print_errors(problem: StowplanError) -> int:
    """Print the errors that keep the scheduler from running, one line each. Returns the exit status."""
    for line in str(problem).splitlines():
        sys.stderr.write(f"stowplan: {line}\n")
    return EXIT_FAILED
