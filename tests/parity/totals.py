"""The score of a run."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.builders import Json

_COUNT = re.compile(r"^\d+ ")
_QUOTED = re.compile(r'"[^"]*"')


@dataclass
class Totals:
    """What was decided and how often the two sides agreed."""

    counts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    """Number of pending pods by reason."""
    disagreements: list[Json] = field(default_factory=list)
    tell: Callable[[str], None] = lambda text: None
    """Receives every disagreement when it is found."""

    def note_message(self, message: str) -> None:
        """Count the reasons in the text of a pending pod."""
        filtering = message.partition(" no new claims to deallocate")[0].partition("available: ")[2]
        parts = filtering.rstrip(".").split(", ")
        self.reasons.update({_QUOTED.sub('"…"', _COUNT.sub("", part)) for part in parts})

    def disagree(self, where: str, problems: list[str], case: Json, *, again: bool) -> None:
        """Record a disagreement; `again` means that it was reproduced with the same pod."""
        self.counts["disagreements" if again else "once_only"] += 1
        self.tell("\n  ".join([f"{where}:", *problems]))
        self.disagreements.append({"id": where, "again": again, "problems": problems, "case": case})

    def summary(self) -> dict[str, Any]:
        return {"counts": dict(sorted(self.counts.items())), "reasons": dict(self.reasons.most_common())}

    def resume(self, summary: Mapping[str, Any]) -> None:
        """Go on from where a summary was made."""
        self.counts.update(summary["counts"])
        self.reasons.update(summary["reasons"])

    def write_cases(self, path: Path) -> None:
        """Write the disagreements as cases for `stowplan evaluate`, and their descriptions to a file beside it."""
        path.write_text("".join(json.dumps(found["case"]) + "\n" for found in self.disagreements))
        told = [{name: found[name] for name in ("id", "again", "problems")} for found in self.disagreements]
        path.with_suffix(".problems.json").write_text(json.dumps(told, indent=2) + "\n")
