"""What a server counts: requests by verb, what plugins made of them, and the state behind them."""

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
_MOST_REASONS = 100
OTHER = "other"
"""Stands for reasons once there are too many to tell apart: those that carry numbers or names, mostly."""


class ServerMetrics:
    """Fed on the event loop's thread alone."""

    def __init__(self, registry: MetricRegistry) -> None:
        self.registry = registry
        counter, histogram = registry.counter, registry.histogram
        by_verb = ("verb",)
        text = "Time from the arrival of a request to its answer, in seconds."
        self._seconds = histogram(_name("request_duration_seconds"), ALPHA, text, _SECONDS, by_verb)
        text = "Time spent in a plugin for one request, in seconds."
        self._plugin_seconds = histogram(_name("plugin_duration_seconds"), ALPHA, text, _SECONDS, ("verb", "plugin"))
        self._received = histogram(_name("request_size_bytes"), ALPHA, "Size of requests.", _BYTES, by_verb)
        self._sent = histogram(_name("reply_size_bytes"), ALPHA, "Size of replies.", _BYTES, by_verb)
        self._requests = counter(_name("requests_total"), ALPHA, "Requests answered.", ("verb", "code"))
        self._nodes_in = counter(_name("nodes_received_total"), ALPHA, "Nodes that were asked about.", by_verb)
        self._nodes_out = counter(_name("nodes_returned_total"), ALPHA, "Nodes that were left.", by_verb)
        text = "Nodes rejected, by reason."
        self._rejects = counter(_name("rejected_nodes_total"), ALPHA, text, ("verb", "reason"))
        text = "Requests without an answer of the plugins."
        self._errors = counter(_name("errors_total"), ALPHA, text, by_verb)
        text = "Answers that the failure policy gave because plugins were not done in time."
        self._overdue = counter(_name("overdue_total"), ALPHA, text, by_verb)
        text = "Calls whose client had gone before there was an answer."
        self._abandoned = counter(_name("abandoned_total"), ALPHA, text, by_verb)
        text = "Requests that were turned away, by cause."
        self._refused = counter(_name("refused_requests_total"), ALPHA, text, ("cause",))
        text = "Requests that are being answered."
        self.in_flight = registry.gauge(_name("requests_in_flight"), ALPHA, text).series()
        text = "The version that runs."
        registry.gauge(_name("build_info"), ALPHA, text, ("version",)).series(__version__).set(1)
        ProcessCollector(registry=registry.others)
        self._reasons: set[str] = set()
        for verb in VERBS:
            for family in (self._errors, self._overdue, self._abandoned):
                family.series(verb)

    def answered(self, facts: CallFacts, status: int, seconds: float, received: int, sent: int) -> None:
        """A request of a verb has its answer."""
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
        """Tell of the cache, of reservations and of calls that plugins hang in, too."""
        self._add_gauge("stuck_calls", "Calls that plugins hang in, and that were given up.", stuck)
        gauge, counter = self.registry.gauge, self.registry.counter
        text, by_plugin = "Reservations held for pods.", ("plugin",)
        gauge(_name("reservations"), ALPHA, text, by_plugin, lambda: {(p,): n for p, n in reservations.count().items()})
        text = "Reservations that ended, by how."
        counter(_name("reservations_ended_total"), ALPHA, text, ("plugin", "how"), reservations.ended)
        if cache is None:
            return
        self._add_gauge("cache_synced", "Whether the cache is complete.", lambda: float(cache.has_synced))
        self._add_gauge("cache_age_seconds", "Time since the last news of the cluster.", cache.age)
        self._add_gauge("cache_nodes", "Nodes in the cache.", lambda: len(cache.cluster.nodes))
        self._add_gauge("cache_pods", "Pods on nodes in the cache.", lambda: len(cache.cluster.pods))

    def _add_gauge(self, name: str, text: str, read: Callable[[], float | None]) -> None:
        def reading() -> Reading:
            value = read()
            return {} if value is None else {(): value}

        self.registry.gauge(_name(name), ALPHA, text, (), reading)

    def _kept(self, reason: str) -> str:
        if reason not in self._reasons:
            if len(self._reasons) >= _MOST_REASONS:
                return OTHER
            self._reasons.add(reason)
        return reason


def _name(name: str) -> str:
    return f"stowplan_extender_{name}"
