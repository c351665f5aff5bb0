"""A run and its files."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec
from tests.parity.totals import Totals

from stowplan._version import __version__
from stowplan.testing.binaries import kubernetes_version


class Run:
    """Keeps the result of a run, also of one that has not ended."""

    def __init__(self, totals: Totals, settings: dict[str, int], result: Path | None, cases: Path) -> None:
        self.totals = totals
        self._settings = settings
        self._result = result
        self._cases = cases
        self._started = time.monotonic()

    def resume(self) -> None:
        if self._result is None or not self._result.exists():
            raise click.UsageError("--resume needs the file of --json")
        before = msgspec.json.decode(self._result.read_bytes())
        if any(before[name] != value for name, value in self._settings.items()):
            raise click.UsageError(f"{self._result} is the result of another run")
        self.totals.resume(before)
        self._started -= before["seconds"]

    def save(self) -> None:
        if self._result:
            self._result.write_text(self.text())
        if self.totals.disagreements:
            self.totals.write_cases(self._cases)

    def text(self) -> str:
        told = {
            "date": datetime.now(UTC).date().isoformat(),
            "stowplan": __version__,
            "kubernetes": kubernetes_version(),
            **self._settings,
            "seconds": round(time.monotonic() - self._started),
            **self.totals.summary(),
        }
        return msgspec.json.format(msgspec.json.encode(told)).decode() + "\n"

    def progress(self, workloads: int) -> str:
        counts, seconds = self.totals.counts, time.monotonic() - self._started
        wrong = f"{counts['disagreements']} disagreements, {counts['once_only']} once only"
        return f"{counts['workloads']}/{workloads} workloads, {counts['pods']} pods, {wrong}, {seconds:.0f} s"
