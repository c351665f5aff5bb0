"""Answers in Python: the records of `framework.explanation` as text, and as HTML in notebooks.

`str` gives the text of the command line, `repr` one line.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from stowplan.framework.explanation import Explanation, PendingPods, PlacedExplanation, WhyNot
from stowplan.insight.text.groups import groups_lines
from stowplan.insight.text.layout import Layout
from stowplan.insight.text.pending import pending_lines
from stowplan.insight.text.placed import placed_lines
from stowplan.insight.text.why_not import why_not_lines
from stowplan.library.answer_html import fragment
from stowplan.simulator.what_if.records import WhatIfAnswer
from stowplan.simulator.what_if.text import what_if_lines

T = TypeVar("T", bound=msgspec.Struct)


class ShownExplanation(Explanation, frozen=True, kw_only=True):
    """An Explanation that notebooks show as HTML."""

    def __str__(self) -> str:
        return "\n".join(pending_lines(self, Layout()))

    def __repr__(self) -> str:
        return f"<Explanation of {self.pod.namespace}/{self.pod.name}: {self.verdict}: {self.sentence}>"

    def _repr_html_(self) -> str:
        return fragment(self)


class ShownPlacedExplanation(PlacedExplanation, frozen=True, kw_only=True):
    """A PlacedExplanation that notebooks show as HTML."""

    def __str__(self) -> str:
        return "\n".join(placed_lines(self, Layout()))

    def __repr__(self) -> str:
        return f"<PlacedExplanation of {self.pod.namespace}/{self.pod.name} on {self.node}: {self.sentence}>"

    def _repr_html_(self) -> str:
        return fragment(self)


class ShownWhyNot(WhyNot, frozen=True, kw_only=True):
    """A WhyNot that notebooks show as HTML."""

    def __str__(self) -> str:
        return "\n".join(why_not_lines(self, Layout()))

    def __repr__(self) -> str:
        return f"<WhyNot: {self.sentence}>"

    def _repr_html_(self) -> str:
        return fragment(self)


class ShownPendingPods(PendingPods, frozen=True, kw_only=True):
    """PendingPods that notebooks show as HTML."""

    def __str__(self) -> str:
        return "\n".join(groups_lines(self, Layout()))

    def __repr__(self) -> str:
        return f"<PendingPods: {self.pods:,} in {len(self.groups):,} groups>"

    def _repr_html_(self) -> str:
        return fragment(self)


class ShownWhatIf(WhatIfAnswer, frozen=True, kw_only=True):
    """A WhatIfAnswer that notebooks show as HTML."""

    def __str__(self) -> str:
        return "\n".join(what_if_lines(self, None))

    def __repr__(self) -> str:
        return f"<WhatIfAnswer: {self.sentence}>"

    def _repr_html_(self) -> str:
        return fragment(self)


_SHOWN: dict[type, type] = {
    Explanation: ShownExplanation,
    PlacedExplanation: ShownPlacedExplanation,
    WhyNot: ShownWhyNot,
    PendingPods: ShownPendingPods,
    WhatIfAnswer: ShownWhatIf,
}


def shown(answer: T) -> T:
    """The answer as a record that notebooks show; its JSON is the same."""
    kind = _SHOWN[type(answer)]
    made: T = kind(**{name: getattr(answer, name) for name in answer.__struct_fields__})
    return made
