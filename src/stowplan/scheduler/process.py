"""The scheduler process: from options to exit status.

Upstream: cmd/kube-scheduler/app/server.go
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from stowplan import logs
from stowplan._version import KUBERNETES_VERSION, __version__
from stowplan.cluster.discovery import ServerFacts
from stowplan.cluster.kubeconfig import load_connection
from stowplan.config.dump import to_yaml
from stowplan.config.options import Options
from stowplan.config.releases import LATEST, Release
from stowplan.errors import ConfigError, StowplanError
from stowplan.extender.client import HttpExtender, build_extenders
from stowplan.framework.plugin import need_objects
from stowplan.observe.extender_metrics import ExtenderMetrics
from stowplan.plugins.registry import REGISTRY
from stowplan.runtime import Factory, enable_everywhere
from stowplan.scheduler.dumper import dump
from stowplan.scheduler.monitoring import Monitor
from stowplan.scheduler.scheduler import Scheduler, SchedulerSettings, now
from stowplan.scheduler.server_discovery import find_server, wait_for_server
from stowplan.serving.event_loop import run_on_fastest_loop
from stowplan.serving.open_files import raise_open_files_limit

EXIT_DONE, EXIT_FAILED = 0, 1
T = TypeVar("T")

log = logs.get(__name__)


OptionsFor = Callable[[Release], Options]
"""The options of the command line under the rules of a release."""


def run(
    options: Options, options_for: OptionsFor, registered: Mapping[str, Factory], enabled: Mapping[str, Factory]
) -> int:
    """Run a scheduler until it is terminated. Returns the exit status.

    The API server's version decides the release, unless `options` do; `options_for` that release then replace them.
    `registered` plugins may be named in the configuration; `enabled` ones run in every profile.
    """

    def enabled_for(release: Release) -> Options:
        found = options_for(release)
        return replace(found, config=enable_everywhere(found.config, enabled))

    options = replace(options, config=enable_everywhere(options.config, enabled))
    logs.configure(options.logs)
    if options.write_config_to:
        _write(options.write_config_to, to_yaml(options.config))
        log.info("Wrote configuration to", file=options.write_config_to)
        return EXIT_DONE
    for warning in options.warnings:
        log.warning("Configuration warning", err=warning)
    extenders = build_extenders(options.config.extenders, limits=options.extender_limits)
    for extender in extenders:
        log.v(2, "Creating extender", extender=extender.name)
    plugins = {**registered, **enabled}
    settings = SchedulerSettings(
        options=options,
        registry={**REGISTRY, **plugins},
        connection=load_connection(options.config.client_connection.kubeconfig, options.master),
        keep_objects=need_objects(plugins.values()),
        extenders=extenders,
    )
    raise_open_files_limit()
    log.info("Starting Kubernetes Scheduler", version=KUBERNETES_VERSION, stowplan=__version__)
    return run_on_fastest_loop(SchedulerProcess(settings, enabled_for).run())


def _write(file: str, text: str) -> None:
    try:
        Path(file).write_text(text)
    except OSError as problem:
        raise ConfigError(f"--write-config-to: open {file}: {(problem.strerror or str(problem)).lower()}") from problem


class SchedulerProcess:
    """From the first request to the API server to the end of the scheduler."""

    def __init__(self, settings: SchedulerSettings, options_for: OptionsFor) -> None:
        self._settings = settings
        self._options_for = options_for
        self._monitor: Monitor | None = None
        self._scheduler: Scheduler | None = None
        self._starting: asyncio.Future[Any] | None = None
        self._stopping = False

    async def run(self) -> int:
        """Run until the process is signalled to stop, or the lease is lost. Returns the exit status."""
        asyncio.get_running_loop().set_exception_handler(log_loop_error)
        handle_signals(self)
        found = await self._unless_stopped(find_server(self._settings.connection))
        if not self._stopping:
            await self._serve_and_schedule(found)
        if self._scheduler is not None and self._scheduler.lost_lease:
            log.error(None, "Leaderelection lost")
            return EXIT_FAILED
        log.info("Requested to terminate, exiting")
        return EXIT_DONE

    def stop(self) -> None:
        """Shut down, also while the process is starting."""
        self._stopping = True
        if self._monitor is not None:
            self._monitor.ending = True
        if self._scheduler is not None:
            self._scheduler.stop()
        if self._starting is not None:
            self._starting.cancel()

    def dump(self) -> None:
        """Log cache and queue."""
        if self._scheduler is not None:
            dump(self._scheduler.engine)

    async def _serve_and_schedule(self, found: ServerFacts | None) -> None:
        """Serve the pages, and schedule once the server is known: it decides the rules."""
        if found is None:
            async with self._serving(self._settings):
                found = await self._unless_stopped(wait_for_server(self._settings.connection))
        if found is not None and not self._stopping:
            async with self._serving(await self._settings_for(found)) as scheduler:
                await scheduler.run()

    @asynccontextmanager
    async def _serving(self, settings: SchedulerSettings) -> AsyncIterator[Scheduler]:
        """A scheduler that does not run yet, and its pages."""
        connection = settings.connection
        monitor = self._monitor = Monitor(settings.options, f"{connection.host}:{connection.port}", now)
        observer = monitor.observer
        scheduler = self._scheduler = Scheduler(
            settings, observer, on_request=monitor.requests.note, on_batch=observer.events_handled
        )
        monitor.watch(scheduler)
        if monitor.extenders is not None:
            count_calls(settings.extenders, monitor.extenders)
        await asyncio.to_thread(monitor.start)
        try:
            yield scheduler
        finally:
            await asyncio.to_thread(monitor.stop)

    async def _settings_for(self, server: ServerFacts) -> SchedulerSettings:
        """The settings under the rules of the server's release; with --emulated-version, of that one."""
        settings = self._settings
        if not settings.options.emulates:
            # On a thread: a policy is read from the API server with an event loop of its own.
            options = await asyncio.to_thread(self._options_for, server.effective_release())
            if options.config.release.version != LATEST.version:
                log.info("Scheduling as kube-scheduler of the API server's release", version=str(server.release))
            settings = replace(settings, options=options)
        return replace(settings, resource_api=server.resource_api)

    async def _unless_stopped(self, work: Coroutine[Any, Any, T]) -> T | None:
        """The result of a coroutine; None if the process is stopped before it ends."""
        self._starting = starting = asyncio.ensure_future(work)
        try:
            await asyncio.wait([starting])
            return None if starting.cancelled() else starting.result()
        finally:
            self._starting = None


def count_calls(extenders: Sequence[HttpExtender], metrics: ExtenderMetrics) -> None:
    for extender in extenders:
        extender.observe = metrics.note
    metrics.open_circuits = lambda: {(each.name, verb): 1.0 for each in extenders for verb in each.open_circuits}


def handle_signals(process: SchedulerProcess) -> None:
    """SIGTERM and SIGINT stop the process, also while it is starting; SIGUSR2 dumps cache and queue to the log."""
    loop = asyncio.get_running_loop()
    actions: dict[str, Callable[[], None]] = {"SIGTERM": process.stop, "SIGINT": process.stop, "SIGUSR2": process.dump}
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
