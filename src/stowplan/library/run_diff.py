"""The difference between two runs."""

from __future__ import annotations

from collections.abc import Iterator

from stowplan.library import html
from stowplan.library.records import Records
from stowplan.library.run import Run
from stowplan.simulator.what_if.diff import ComparedRun, diff
from stowplan.simulator.what_if.records import DiffAnswer, PodDifference, WorkloadDifference


class RunDiff:
    """The difference between two runs. Iterates over the pods that are in both and have another node."""

    def __init__(self, before: Run, after: Run) -> None:
        self.before = before
        self.after = after
        first = ComparedRun("the first run", before.report.pods)
        self.answer: DiffAnswer = diff(first, ComparedRun("the second run", after.report.pods))
        """The record that `stowplan diff -o json` prints."""

    @property
    def moved(self) -> Records[PodDifference]:
        """Pods on another node."""
        return Records(self.answer.moved)

    @property
    def now_waiting(self) -> Records[PodDifference]:
        return Records(self.answer.now_waiting)

    @property
    def now_placed(self) -> Records[PodDifference]:
        return Records(self.answer.now_placed)

    @property
    def only_before(self) -> tuple[str, ...]:
        """Names of pods that are in the first run only."""
        return self.answer.only_before

    @property
    def only_after(self) -> tuple[str, ...]:
        return self.answer.only_after

    @property
    def workloads(self) -> Records[WorkloadDifference]:
        return Records(self.answer.workloads)

    @property
    def pods(self) -> Records[PodDifference]:
        """All pods that are in both runs and have another node, or have one in one of them only."""
        return Records(sorted((*self.moved, *self.now_waiting, *self.now_placed), key=lambda moved: moved.pod))

    def __iter__(self) -> Iterator[PodDifference]:
        return iter(self.pods)

    def __len__(self) -> int:
        return len(self.pods)

    def __bool__(self) -> bool:
        return bool(self.pods or self.only_before or self.only_after)

    @property
    def sentence(self) -> str:
        """The difference in one sentence."""
        counts = {
            "on another node": len(self.moved),
            "placed now": len(self.now_placed),
            "pending now": len(self.now_waiting),
            "gone": len(self.only_before),
            "new": len(self.only_after),
        }
        parts = [f"{number:,} {what}" for what, number in counts.items() if number]
        return f"Pods: {', '.join(parts) or 'no difference'}; {self.after.summary.pending:,} pending in all."

    def __repr__(self) -> str:
        return f"<RunDiff: {self.sentence}>"

    def _repr_html_(self) -> str:
        return html.paragraph(self.sentence) + (self.pods._repr_html_() if self.pods else "")
