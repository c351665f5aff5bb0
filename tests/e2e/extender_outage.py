"""An extender that is out of order for a while, and the delay of pods after its return."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Literal

from tests.builders import Json
from tests.extenders import WebExtender

from stowplan.testing import KubeApi, free_port, pod, wait_until

OutageKind = Literal["refused", "silent"]
"""Connections are refused; or accepted, and requests are not answered."""

HTTP_TIMEOUT_SECONDS = 1


class OutageExtender:
    """An extender on one port that passes all nodes, or is out of order."""

    def __init__(self) -> None:
        self._port = free_port()
        self._answering = threading.Event()
        self._running: WebExtender | None = None

    @property
    def entry(self) -> Json:
        """The extender in a KubeSchedulerConfiguration."""
        address = {"urlPrefix": f"http://127.0.0.1:{self._port}", "filterVerb": "f", "nodeCacheCapable": True}
        return {**address, "httpTimeout": f"{HTTP_TIMEOUT_SECONDS}s"}

    def begin(self) -> None:
        self._answering.set()
        if self._running is None:
            self._running = WebExtender({"/f": self._filter}, port=self._port).__enter__()

    def end(self, kind: OutageKind) -> None:
        self._answering.clear()
        if kind == "refused" and self._running is not None:
            self._running.__exit__()
            self._running = None

    def _filter(self, request: Json) -> Json:
        self._answering.wait(60)
        return {"NodeNames": request["NodeNames"]}


def recovery(
    start: Callable[[Json], Any], kube_api: KubeApi, namespace: str, kind: OutageKind, seconds: int
) -> tuple[float, float]:
    """Seconds from the extender's return until the first pod is bound, and until all are. A pod is created for each
    second of the outage, so that at its end they are at all stages of backoff."""
    extender = OutageExtender()
    extender.begin()
    process = start({"extenders": [extender.entry]})
    try:
        kube_api.create(pod("before", namespace))
        kube_api.wait_for_pods_bound(namespace, 1)
        extender.end(kind)
        ends = time.monotonic() + seconds
        for i in range(seconds):
            kube_api.create(pod(f"p{i}", namespace))
            time.sleep(max(0.0, ends - seconds + i + 1 - time.monotonic()))
        assert list(kube_api.bound_pods(namespace)) == ["before"]
        extender.begin()
        returned = time.monotonic()
        wait_until(lambda: len(kube_api.bound_pods(namespace)) > 1, every=0.02)
        first = time.monotonic() - returned
        kube_api.wait_for_pods_bound(namespace, seconds + 1)
        return first, time.monotonic() - returned
    finally:
        process.stop()
        extender.end("refused")
