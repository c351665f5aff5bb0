"""The extender server with informer cache, reservations, ports and files, from configuration to shutdown."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, cast

from stowplan import logs
from stowplan.cluster.connection import Connection
from stowplan.cluster.kubeconfig import load_connection
from stowplan.cluster.reflector import watched_kinds
from stowplan.errors import ConfigError
from stowplan.extender.handlers import VERBS, GroupMember, Handlers
from stowplan.extender.informer_cache import InformerCache, InformerReflectors
from stowplan.extender.reservations import ReservationBook, ReservationLease
from stowplan.extender.server.client_access import Access
from stowplan.extender.server.configuration import ExtenderServerConfiguration
from stowplan.extender.server.decisions import DecisionLog
from stowplan.extender.server.line_file import LineFile
from stowplan.extender.server.metrics import ServerMetrics
from stowplan.extender.server.pages import OperatorPages
from stowplan.extender.server.paths import Paths
from stowplan.extender.server.recording import Recording
from stowplan.extender.server.request_handling import Answering, RequestObserver
from stowplan.extender.server.request_log import RequestLog
from stowplan.extender.server.scheduler_port import Gzip, SchedulerPort
from stowplan.framework import Handle, Plugin
from stowplan.observe.health import PING, HealthCheck
from stowplan.observe.registry import MetricRegistry
from stowplan.runtime.gc_tuning import settle_heap
from stowplan.runtime.profile.build import with_in_tree_args
from stowplan.serving import InsecureServer, ServerTLS, ServingOptions, listen

log = logs.get(__name__)

_RELOAD_SECONDS = 10.0
_MAX_STUCK = 32
"""Half of the number of threads that may hang."""


class ExtenderServer:
    """The constructor raises a StowplanError for any problem at start-up; `run` serves."""

    def __init__(self, config: ExtenderServerConfiguration, members: Sequence[GroupMember]) -> None:
        self._config = config
        self._members = members
        self._files: list[LineFile] = []
        self._connection = _connect(config)
        self._lease: ReservationLease | None = None
        self._recording: Recording | None = None
        self.reservations = ReservationBook(self._connection)
        self._add_informer_cache()
        self.handlers = self._make_handlers()
        self.metrics = ServerMetrics(MetricRegistry())
        self.metrics.watch(self.informer_cache, self.reservations, lambda: self.handlers.stuck)
        self.decisions = DecisionLog(config.monitoring.decisions, self._file(config.monitoring.decision_log))
        self.paths = Paths(config.serving.url_prefix, {verb: getattr(config.verbs, verb) for verb in VERBS})
        self.answering = Answering(self.handlers, self.paths, self.metrics, self._observers())
        self._ending = asyncio.Event()
        self._open_ports()

    # Building
    def _add_informer_cache(self) -> None:
        self.informer_cache: InformerCache | None = None
        self._reflectors: InformerReflectors | None = None
        factories: list[Any] = [member.factory for member in self._members]
        if self._connection is None:
            return
        read = {kind for factory in factories for kind in getattr(factory, "reads", ())}
        kinds = [kind.name for kind in watched_kinds(read)]
        keep = any(getattr(factory, "needs_objects", False) for factory in factories)
        self.informer_cache = InformerCache(
            kinds, reservations=self.reservations, keep_objects=keep, on_synced=self._on_synced
        )
        self._reflectors = InformerReflectors(self._connection, self.informer_cache, kinds, keep_objects=keep)
        lease = self._config.cluster.leader_election
        if lease.leader_elect:
            self._lease = ReservationLease(self._connection, lease, on_lost=self.reservations.clear)

    def _on_synced(self) -> None:
        """The informer cache has synced. Called while the cluster does not change."""
        settle_heap()
        if self._recording is not None and self.informer_cache is not None:
            self._recording.add_nodes(info.node for info in self.informer_cache.cluster.nodes)

    def _make_handlers(self) -> Handlers:
        reservations = self.reservations if self._connection is not None else None
        members = [self._equipped(member) for member in self._members]
        handlers = Handlers(
            members,
            self._config,
            cluster_cache=self.informer_cache,
            reservations=reservations,
            binds=bool(self._config.verbs.bind),
        )
        if self.informer_cache is not None:
            self.informer_cache.apply = handlers.apply
        return handlers

    def _equipped(self, member: GroupMember) -> GroupMember:
        """The same member, with a cluster connection for its plugin and its reservations registered."""

        def make(args: Any, handle: Handle) -> Plugin:
            handle.connection = self._connection
            plugin = member.factory(with_in_tree_args(member.factory, args), handle)
            self.reservations.adopt(plugin)
            return plugin

        return _with_factory(member, make)

    def _observers(self) -> list[RequestObserver]:
        monitoring = self._config.monitoring
        observers: list[RequestObserver] = [self.decisions] if monitoring.decisions or monitoring.decision_log else []
        if monitoring.log_requests:
            observers.append(RequestLog())
        record = self._file(monitoring.record)
        if record is not None:
            self._recording = Recording(record, keep_annotations=monitoring.keep_annotations)
            observers.append(self._recording)
        return observers

    def _file(self, path: str) -> LineFile | None:
        if not path:
            return None
        self._files.append(LineFile(path))
        return self._files[-1]

    def _open_ports(self) -> None:
        serving, monitoring = self._config.serving, self._config.monitoring
        tls = serving.tls
        self._tls = ServerTLS(serving.options, tls.client_ca_file) if tls.cert_file else None
        pages = OperatorPages(
            self.metrics.registry, self.decisions, live=self._live_checks(), ready=self._ready_checks()
        )
        access = Access(required=bool(tls.client_ca_file), allowed_names=tls.allowed_names)
        self.scheduler_port = SchedulerPort(
            _listen(serving.options, "--port"),
            None if self._tls is None else self._tls.context,
            self.answering,
            access=access,
            pages=pages if monitoring.port is None else None,
            closed=lambda: None if self._holds() else "another replica holds the reservations",
            largest_body=serving.max_body_bytes,
            max_total_bytes=serving.max_total_body_bytes,
            max_connections=serving.max_connections,
            gzip=cast(Gzip, serving.gzip),
            allowed_hosts=serving.other_hosts,
        )
        self.metrics_port: int | None = None
        """The port of the pages, if they have one of their own."""
        self._page_server: InsecureServer | None = None
        if monitoring.port is not None:
            address = monitoring.bind_address or serving.address
            listener = _listen(ServingOptions(address=address, port=monitoring.port), "--metrics-port")
            self.metrics_port = listener.getsockname()[1]
            self._page_server = InsecureServer({listener: pages}, allowed_hosts=serving.other_hosts)

    def _live_checks(self) -> list[HealthCheck]:
        return [
            PING,
            HealthCheck("feeds", lambda: None if self._reflectors is None else self._reflectors.problem()),
            HealthCheck("plugins", self._hanging),
        ]

    def _hanging(self) -> str | None:
        """Occasional hangs are tolerated. A plugin that always hangs needs a new process."""
        stuck = self.handlers.stuck
        return f"plugins hang in {stuck} calls" if stuck >= _MAX_STUCK else None

    def _ready_checks(self) -> list[HealthCheck]:
        checks = [HealthCheck("shutdown", lambda: "process is shutting down" if self._ending.is_set() else None)]
        if self.informer_cache is not None:
            cache = self.informer_cache
            checks.append(
                HealthCheck("cache-sync", lambda: None if cache.has_synced else "nodes and pods are not listed yet")
            )
        if self._config.cluster.leader_election.leader_elect:
            other = "another replica holds the reservations"
            checks.append(HealthCheck("reservations-lease", lambda: None if self._holds() else other))
        return checks

    def _holds(self) -> bool:
        return self._lease is None or self._lease.holds()

    # Serving
    def stop(self) -> None:
        """Shut down after the requests in progress are answered."""
        self._ending.set()

    async def run(self) -> None:
        """Serve until `stop`."""
        await self.scheduler_port.start()
        if self._page_server is not None:
            self._page_server.start()
        if self._reflectors is not None:
            self._reflectors.start()
        if self._lease is not None:
            self._lease.start()
        self._announce()
        try:
            await self._maintain()
        finally:
            await self.scheduler_port.drain(self._config.serving.drain.seconds)
            if self._page_server is not None:
                await asyncio.to_thread(self._page_server.stop)
            await self._close()

    async def _maintain(self) -> None:
        """Reload certificates until shutdown."""
        while not self._ending.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), _RELOAD_SECONDS)
            if self._tls is not None:
                self._tls.reload()

    async def _close(self) -> None:
        if self._reflectors is not None:
            await self._reflectors.stop()
        if self._lease is not None:
            await asyncio.to_thread(self._lease.stop)
        await self.reservations.writer.close()
        self.handlers.close()
        for file in self._files:
            await asyncio.to_thread(file.close)

    def _announce(self) -> None:
        serving = self._config.serving
        for warning in self.handlers.warnings:
            log.warning("Configuration warning", err=warning)
        if not serving.tls.client_ca_file and not serving.is_loopback:
            log.warning("Any client that reaches this port is answered: require certificates by --client-ca-file")
        if self.informer_cache is None and not self._config.bare_names:
            log.info("Without access to the cluster only whole nodes can be judged: set nodeCacheCapable to false")
        log.info("Pods of a PodGroup come one at a time: plugins filter and score members, kube-scheduler forms groups")
        scheme = "https" if serving.tls.cert_file else "http"
        host = f"[{serving.address}]" if ":" in serving.address else serving.address
        served = {verb: path for verb, path in self.paths.by_verb.items() if verb in self.handlers.serves}
        log.info("Serving", url=f"{scheme}://{host}:{self.scheduler_port.port}", **served)
        if self.metrics_port is not None:
            log.info("Serving health and metrics", port=self.metrics_port)
        for verb in sorted(set(VERBS) - self.handlers.serves):
            if getattr(self._config.verbs, verb) not in ("", verb):
                log.warning("A verb has a name, but no plugin serves it", verb=verb)


def _connect(config: ExtenderServerConfiguration) -> Connection | None:
    cluster = config.cluster
    if cluster.kubeconfig or cluster.in_cluster:
        return load_connection(cluster.kubeconfig)
    if cluster.leader_election.leader_elect:
        raise ConfigError("--leader-elect: the lease is kept in a cluster; name one by --kubeconfig or --in-cluster")
    return None


def _with_factory(member: GroupMember, make: Any) -> GroupMember:
    for attribute in ("Args", "name", "needs_objects", "reads", "reads_annotations"):
        if hasattr(member.factory, attribute):
            setattr(make, attribute, getattr(member.factory, attribute))
    return GroupMember(make, name=member.name, args=member.args, weight=member.weight, selector=member.selector)


def _listen(options: ServingOptions, flag: str) -> socket.socket:
    try:
        return listen(options)
    except ConfigError as error:
        raise ConfigError(f"{flag}: {error}") from error
