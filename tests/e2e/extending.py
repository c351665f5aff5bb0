"""`stowplan extender` as a process, and the failures that a scheduler behind it reports."""

import json
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from stowplan.testing import KubeApi, Process, SurroundingsError, wait_until
from stowplan.testing.kube_scheduler import parse_samples

HERE = Path(__file__).parent


class ExtenderProcess:
    """An extender on a port of its own, with its pages on another."""

    def __init__(self, folder: Path, name: str, *flags: str, plugin: str = "LabelDriven", scheme: str = "http") -> None:
        self._scheme = scheme
        self._flags = (f"--plugin={HERE}/label_driven_plugins.py:{plugin}", *flags)
        self._folder = folder
        self._name = name
        self.url = ""
        self._pages = "0"

    def start(self) -> None:
        """Both ports are assigned by the system and read from the log."""
        command = [
            sys.executable,
            "-m",
            "stowplan",
            "extender",
            "--port=0",
            "--metrics-port=0",
            "--bind-verb=bind",
            *self._flags,
        ]
        self.process = Process(self._name, command, self._folder / f"{self._name}.log")
        self.process.start()

    def wait_ready(self, timeout: float = 90.0) -> None:
        self.process.wait_ready(self._is_ready, timeout)

    def wait_not_ready(self, check: str) -> str:
        """Wait until only this readiness check fails; returns its message."""

        def why() -> str:
            self._is_ready()
            try:
                self.page("/readyz")
            except urllib.error.HTTPError as refusal:
                told = refusal.read().decode()
                return told if told.count("[-]") == 1 and f"[-]{check}" in told else ""
            except OSError:
                pass
            return ""

        return wait_until(why)

    def stop(self) -> None:
        self.process.stop()

    @property
    def processes(self) -> list[Process]:
        return [self.process]

    def page(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self._pages}{path}", timeout=10) as reply:
            return str(reply.read().decode())

    def metrics(self) -> dict[str, float]:
        return parse_samples(self.page("/metrics"))

    def calls(self, pod: str) -> list[str]:
        """The verbs that were called for a pod, in order."""
        try:
            entries = json.loads(self.page(f"/debug/decisions?pod={pod}"))
        except OSError:
            return []
        return [entry["verb"] for entry in reversed(entries)]

    def wait_for_calls(self, pod: str, verbs: list[str]) -> None:
        """Wait until exactly these verbs were called for a pod; calls are logged shortly after the reply."""
        wait_until(lambda: self.calls(pod) == verbs, what=f"{verbs} about {pod}, not {self.calls(pod)}")

    def _is_ready(self) -> bool:
        lines = self.process.log.read_text().splitlines() if self.process.log.exists() else []
        serving = [line for line in lines if '"Serving" url=' in line]
        pages = [line for line in lines if '"Serving health and metrics" port=' in line]
        if not serving or not pages:
            return False
        port = serving[-1].partition(f'url="{self._scheme}://127.0.0.1:')[2].partition('"')[0]
        self.url = f"{self._scheme}://127.0.0.1:{port}"
        self._pages = pages[-1].rpartition("=")[2]
        try:
            return self.page("/readyz") == "ok"
        except OSError:
            return False


def failures(kube_api: KubeApi, namespace: str, pod: str) -> list[str]:
    """The messages of a pod's FailedScheduling events."""
    events = kube_api.list("events.k8s.io/v1/Event", namespace)
    return [e["note"] for e in events if e["reason"] == "FailedScheduling" and e["regarding"]["name"] == pod]


def wait_for_failure(kube_api: KubeApi, namespace: str, pod: str, text: str) -> str:
    """The first event of failure of a pod that contains this text."""

    def found() -> str:
        return next((note for note in failures(kube_api, namespace, pod) if text in note), "")

    try:
        return wait_until(found, what=f"an event of {pod} with {text!r}")
    except SurroundingsError as error:
        raise AssertionError(f"{error}; there are {failures(kube_api, namespace, pod)}") from error


def entry(url: str, **more: Any) -> dict[str, Any]:
    """An extender as a scheduler's configuration names it."""
    return {"urlPrefix": url, "filterVerb": "filter", **more}
