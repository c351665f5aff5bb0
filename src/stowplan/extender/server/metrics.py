"""Metrics of the extender server: requests by verb, results of plugins, cache and reservations."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import ProcessCollector

from stowplan._version import __version__
from stowplan.extender.handlers import VERBS, CallFacts, Verb
from stowplan.extender.informer_cache import InformerCache
from stowplan.extender.reservations import ReservationBook
from stowplan.observe.registry import ALPHA, MetricRegistry
from stowplan.observe.series import Reading, exponential

_SECONDS = exponential(0.0005, 2, 16)
_BYTES = exponential(256, 4, 10)
_MAX_REASONS = 100
OTHER = "other"
"""Label value for further reasons after the first _MAX_REASONS, usually reasons with numbers or names."""


class ServerMetrics:
    """Updated on the event loop's thread only."""

    def __init__(self, registry: MetricRegistry) -> None:
        self.registry = registry
        counter, histogram = registry.counter, registry.histogram
        by_verb = ("verb",)
        text = "Time from the first byte of a request to its reply, in seconds."
        self._seconds = histogram(_name("request_duration_seconds"), ALPHA, text, _SECONDS, by_verb)
        text = "Time spent in a plugin for one request, in seconds."
        self._plugin_seconds = histogram(_name("plugin_duration_seconds"), ALPHA, text, _SECONDS, ("verb", "plugin"))
        self._received = histogram(_name("request_size_bytes"), ALPHA, "Size of requests.", _BYTES, by_verb)
        self._sent = histogram(_name("reply_size_bytes"), ALPHA, "Size of replies.", _BYTES, by_verb)
        self._requests = counter(_name("requests_total"), ALPHA, "Requests answered.", ("verb", "code"))
        self._nodes_in = counter(_name("nodes_received_total"), ALPHA, "Nodes in requests.", by_verb)
        self._nodes_out = counter(_name("nodes_returned_total"), ALPHA, "Nodes in replies.", by_verb)
        text = "Nodes rejected, by reason."
        self._rejects = counter(_name("rejected_nodes_total"), ALPHA, text, ("verb", "reason"))
        text = "Requests without a result of the plugins."
        self._errors = counter(_name("errors_total"), ALPHA, text, by_verb)
        text = "Replies of the failure policy because plugins exceeded the deadline."
        self._overdue = counter(_name("overdue_total"), ALPHA, text, by_verb)
        text = "Requests whose client disconnected before the reply."
        self._abandoned = counter(_name("abandoned_total"), ALPHA, text, by_verb)
        text = "Requests refused without running plugins, by cause."
        self._refused = counter(_name("refused_requests_total"), ALPHA, text, ("cause",))
        text = "Requests in progress."
        self.in_flight = registry.gauge(_name("requests_in_flight"), ALPHA, text).series()
        text = "Version of the extender."
        registry.gauge(_name("build_info"), ALPHA, text, ("version",)).series(__version__).set(1)
        ProcessCollector(registry=registry.others)
        self._reasons: set[str] = set()
        for verb in VERBS:
            for family in (self._errors, self._overdue, self._abandoned):
                family.series(verb)

    def answered(self, facts: CallFacts, status: int, seconds: float, received: int, sent: int) -> None:
        """A request was answered."""
        verb = facts.verb
        self._requests.series(verb, str(status)).add()
        self._seconds.series(verb).observe(seconds)
        self._received.series(verb).observe(received)
        self._sent.series(verb).observe(sent)
        self._nodes_in.series(verb).add(facts.nodes_in)
        self._nodes_out.series(verb).add(facts.nodes_out)
        for plugin, spent in facts.plugin_seconds.items():
            self._plugin_seconds.series(verb, plugin).observe(spent)
        for reason, count in facts.rejects.items():
            self._rejects.series(verb, self._kept(reason)).add(count)
        if facts.error:
            self._errors.series(verb).add()
        if facts.abandoned:
            self._overdue.series(verb).add()

    def abandoned(self, verb: Verb) -> None:
        self._abandoned.series(verb).add()

    def refused(self, cause: str) -> None:
        self._refused.series(cause).add()

    def watch(self, cache: InformerCache | None, reservations: ReservationBook, stuck: Callable[[], int]) -> None:
        """Register gauges of the informer cache, of reservations and of stuck calls."""
        self._add_gauge("stuck_calls", "Abandoned calls whose plugins still run.", stuck)
        gauge, counter = self.registry.gauge, self.registry.counter
        text, by_plugin = "Reservations held for pods.", ("plugin",)
        gauge(_name("reservations"), ALPHA, text, by_plugin, lambda: {(p,): n for p, n in reservations.count().items()})
        text = "Ended reservations by reason."
        counter(_name("reservations_ended_total"), ALPHA, text, ("plugin", "how"), reservations.ended)
        if cache is None:
            return
        self._add_gauge("cache_synced", "Whether the informer cache has synced.", lambda: float(cache.has_synced))
        self._add_gauge("cache_age_seconds", "Time since the last event of the cluster, in seconds.", cache.age)
        self._add_gauge("cache_nodes", "Nodes in the informer cache.", lambda: len(cache.cluster.nodes))
        self._add_gauge("cache_pods", "Assigned pods in the informer cache.", lambda: len(cache.cluster.pods))

    def _add_gauge(self, name: str, text: str, read: Callable[[], float | None]) -> None:
        def reading() -> Reading:
            value = read()
            return {} if value is None else {(): value}

        self.registry.gauge(_name(name), ALPHA, text, (), reading)

    def _kept(self, reason: str) -> str:
        if reason not in self._reasons:
            if len(self._reasons) >= _MAX_REASONS:
                return OTHER
            self._reasons.add(reason)
        return reason


def _name(name: str) -> str:
    return f"stowplan_extender_{name}"
