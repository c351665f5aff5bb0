"""Metrics of calls to extenders; kube-scheduler has none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from stowplan.observe.registry import ALPHA, MetricRegistry
from stowplan.observe.series import Reading

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class ExtenderCall(Protocol):
    """A finished call."""

    @property
    def extender(self) -> str: ...

    @property
    def verb(self) -> str: ...

    @property
    def result(self) -> str: ...

    @property
    def seconds(self) -> float: ...

    @property
    def sent(self) -> int: ...

    @property
    def received(self) -> int: ...


class ExtenderMetrics:
    """Fed by the loop's thread, read by the scraping one. The label extender is its urlPrefix."""

    def __init__(self, registry: MetricRegistry) -> None:
        labels = ("extender", "verb")
        text = (
            "Latency of extender calls in seconds, by result: success; error (a status other than 200); unreachable "
            "(no reply in time)."
        )
        name = "stowplan_extender_call_duration_seconds"
        self._seconds = registry.histogram(name, ALPHA, text, _SECONDS, (*labels, "result"))
        text = "Number of calls that were skipped because the circuit breaker was open."
        self._spared = registry.counter("stowplan_extender_spared_calls_total", ALPHA, text, labels)
        text = "Bytes sent to extenders."
        self._sent = registry.counter("stowplan_extender_sent_bytes_total", ALPHA, text, labels)
        text = "Bytes received from extenders."
        self._received = registry.counter("stowplan_extender_received_bytes_total", ALPHA, text, labels)
        self.open_circuits: Callable[[], Reading] = dict
        """(extender, verb) with an open circuit breaker, with 1 each."""
        text = "Whether the circuit breaker of an extender's verb is open."
        registry.gauge("stowplan_extender_circuit_open", ALPHA, text, labels, lambda: self.open_circuits())

    def note(self, call: ExtenderCall) -> None:
        """Record a call."""
        labels = (call.extender, call.verb)
        if call.result == "spared":
            self._spared.series(*labels).add()
            return
        self._seconds.series(*labels, call.result).observe(call.seconds)
        self._sent.series(*labels).add(call.sent)
        self._received.series(*labels).add(call.received)
