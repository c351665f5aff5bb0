"""Metrics, health checks and the HTTPS server of a scheduler process.

Upstream: cmd/kube-scheduler/app/server.go
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Protocol

from stowplan import logs
from stowplan.cluster.client import Client
from stowplan.cluster.connection import Connection
from stowplan.cluster.kubeconfig import in_cluster, load_connection
from stowplan.cluster.kubeconfig.in_cluster import is_in_cluster
from stowplan.config.dump import to_builtins
from stowplan.config.feature_gates import GENERIC_WORKLOAD
from stowplan.config.options import Options
from stowplan.engine import Engine
from stowplan.errors import ConfigError
from stowplan.observe import resource_metrics
from stowplan.observe.access_metrics import AccessMetrics
from stowplan.observe.component_metrics import add_component_metrics
from stowplan.observe.extender_metrics import ExtenderMetrics
from stowplan.observe.gauges import RetriedRead, gauge_sources
from stowplan.observe.health import HealthCheck, HealthMetrics, HealthPage
from stowplan.observe.metrics import SchedulerMetrics
from stowplan.observe.metrics_observer import MetricsObserver
from stowplan.observe.registry import MetricRegistry
from stowplan.observe.rest_client_metrics import RequestMetrics
from stowplan.scheduler.web_source import add_page
from stowplan.serving import Clients, ComponentPages, InsecureServer, SecureServer, Sources, listen_insecurely
from stowplan.serving.insight_pages import InsightSource
from stowplan.serving.pages import Pages
from stowplan.web.source import StateSource

log = logs.get(__name__)

_NOT_SYNCED = "handlers are not fully synchronized"
_ENDING = "process is shutting down"


class Subject(Protocol):
    """A scheduler, as monitoring reads it."""

    @property
    def engine(self) -> Engine: ...

    @property
    def insight(self) -> InsightSource: ...

    def page_source(self, metrics: SchedulerMetrics) -> StateSource:
        """The source of the page."""

    @property
    def ready(self) -> bool:
        """Whether all watched kinds are synced."""

    def is_leader(self) -> bool: ...

    def lease_problem(self) -> str | None:
        """The failure of a leader that neither renews its lease nor stops; None if healthy."""


class Monitor:
    """Made before the scheduler, which uses its `observer` and is passed to `watch`; serves from `start` to `stop`."""

    def __init__(self, options: Options, api_server: str, clock: Callable[[], float] = time.time) -> None:
        """`api_server` is host:port of the API server; `clock` is the engine's."""
        self._options = options
        self._subject: Subject | None = None
        self._server: SecureServer | None = None
        self._plain: InsecureServer | None = None
        self.ending = False
        """Whether the process shuts down, which makes it unready."""
        self.registry = MetricRegistry(options.metrics.disabled, options.metrics.allowed_labels)
        self.metrics = SchedulerMetrics(self.registry, groups=options.config.release.has(GENERIC_WORKLOAD))
        self.observer = MetricsObserver(self.metrics, clock)
        self.requests = RequestMetrics(self.registry, api_server)
        self.extenders = ExtenderMetrics(self.registry) if options.config.extenders else None
        """None without extenders."""
        release = options.config.release
        features = {(name, release.gates[name].stage): enabled for name, enabled in options.gates.items()}
        add_component_metrics(self.registry, features, self._leads, release.version)

    def watch(self, subject: Subject) -> None:
        """Monitor this scheduler."""
        self._subject = subject
        self.metrics.gauges = gauge_sources(subject.engine)
        self.observer.announce(subject.engine.profiles.values())

    def start(self) -> None:
        """Start the servers, if enabled. Raises ConfigError."""
        options = self._options
        pages = ComponentPages(self._sources())
        self._plain = InsecureServer(listen_insecurely(options.plain_http, pages))
        self._plain.start()
        if options.serving.port == 0:
            return
        authentication = _connection(options.access.authentication_kubeconfig)
        authorization = _connection(options.access.authorization_kubeconfig)
        if authentication is None:
            log.warning("No authentication-kubeconfig provided, so tokens and client certificates won't work")
        if authorization is None:
            log.warning(
                "No authorization-kubeconfig provided, so SubjectAccessReview of authorization tokens won't work."
            )

        def connect() -> Clients:
            return Clients(_client(authentication), _client(authorization))

        metrics = AccessMetrics(self.registry)
        self._server = SecureServer(options.serving, options.access, pages, metrics, connect)
        self._server.start()
        log.info("Serving securely", address=options.serving.address, port=self._server.port)

    def stop(self) -> None:
        for server in (self._server, self._plain):
            if server is not None:
                server.stop()

    def _sources(self) -> Sources:
        options, health = self._options, HealthMetrics()
        election = [HealthCheck("leaderElection", self._lease_problem)] if self._elects else []
        shutdown = HealthCheck("shutdown", lambda: _ENDING if self.ending else None)
        synced = HealthCheck("sched-handler-sync", lambda: None if self._is_ready() else _NOT_SYNCED)
        return Sources(
            metrics=self.registry,
            health=health,
            health_pages=(
                HealthPage("healthz", election, health.on_check),
                HealthPage("livez", (), health.on_check),
                HealthPage("readyz", (*election, shutdown, synced), health.on_check),
            ),
            configuration=to_builtins(options.config, redacts=True),
            flags=options.flags,
            resources=RetriedRead(self._resources, b""),
            profiling=options.config.enable_profiling,
            gates=options.gates,
            emulated=options.config.release.version,
            insight=None if self._subject is None else self._subject.insight,
            add_more=self._add_page,
        )

    def _add_page(self, pages: Pages) -> None:
        if self._subject is not None:
            add_page(pages, self._subject.page_source(self.metrics), with_ui=self._options.web)

    @property
    def _elects(self) -> bool:
        return self._options.config.leader_election.leader_elect

    def _leads(self) -> bool | None:
        return (self._subject is not None and self._subject.is_leader()) if self._elects else None

    def _lease_problem(self) -> str | None:
        return None if self._subject is None else self._subject.lease_problem()

    def _is_ready(self) -> bool:
        return self._subject is not None and self._subject.ready

    def _resources(self) -> bytes:
        """Only the leader exposes pods, so that each is exposed once."""
        if self._subject is None or not self._subject.is_leader():
            return b""
        engine = self._subject.engine
        known = dict(engine.cluster.pods)
        waiting = [pending.pod for uid, pending in dict(engine.pending).items() if uid not in known]
        return resource_metrics.expose((*known.values(), *waiting))


def _client(connection: Connection | None) -> Client | None:
    return None if connection is None else Client(connection)


def _connection(kubeconfig: str, env: Mapping[str, str] = os.environ) -> Connection | None:
    """The connection of a kubeconfig, or of the pod that runs this process, if any."""
    if kubeconfig:
        return load_connection(kubeconfig)
    if not is_in_cluster(env):
        return None
    try:
        return in_cluster(env)
    except ConfigError as error:
        log.warning("failed to read in-cluster kubeconfig for delegated authentication", err=str(error))
        return None
