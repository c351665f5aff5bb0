"""Metrics of the calls to extenders, of which kube-scheduler has none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from stowplan.observe.registry import ALPHA, MetricRegistry
from stowplan.observe.series import Reading

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class ExtenderCall(Protocol):
    """A call that has ended."""

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
    """Fed by the loop's thread, read by the one that scrapes. An extender is known by its urlPrefix."""

    def __init__(self, registry: MetricRegistry) -> None:
        labels = ("extender", "verb")
        text = (
            "Time that extenders took, in seconds, by result: success; error, a status that is not 200; unreachable, "
            "no answer in time."
        )
        name = "stowplan_extender_call_duration_seconds"
        self._seconds = registry.histogram(name, ALPHA, text, _SECONDS, (*labels, "result"))
        text = "Calls that were spared, since the extender had not answered for some time."
        self._spared = registry.counter("stowplan_extender_spared_calls_total", ALPHA, text, labels)
        text = "Bytes that were sent to extenders."
        self._sent = registry.counter("stowplan_extender_sent_bytes_total", ALPHA, text, labels)
        text = "Bytes that extenders answered with."
        self._received = registry.counter("stowplan_extender_received_bytes_total", ALPHA, text, labels)
        self.open_circuits: Callable[[], Reading] = dict
        """The (extender, verb) that are not asked at present, with 1 each."""
        text = "Whether an extender is not asked at present, since it did not answer."
        registry.gauge("stowplan_extender_circuit_open", ALPHA, text, labels, lambda: self.open_circuits())

    def note(self, call: ExtenderCall) -> None:
        """A call has ended."""
        labels = (call.extender, call.verb)
        if call.result == "spared":
            self._spared.series(*labels).add()
            return
        self._seconds.series(*labels, call.result).observe(call.seconds)
        self._sent.series(*labels).add(call.sent)
        self._received.series(*labels).add(call.received)
