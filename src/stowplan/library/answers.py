"""Answers that notebooks show as HTML: the records of `framework.explanation` with `_repr_html_`."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from stowplan.framework.explanation import Explanation, PendingPods, PlacedExplanation, WhyNot
from stowplan.library.answer_html import fragment
from stowplan.simulator.what_if.records import WhatIfAnswer

T = TypeVar("T", bound=msgspec.Struct)


class ShownExplanation(Explanation, frozen=True, kw_only=True):
    """An Explanation that notebooks show as HTML."""

    def _repr_html_(self) -> str:
        return fragment(self)


class ShownPlacedExplanation(PlacedExplanation, frozen=True, kw_only=True):
    """A PlacedExplanation that notebooks show as HTML."""

    def _repr_html_(self) -> str:
        return fragment(self)


class ShownWhyNot(WhyNot, frozen=True, kw_only=True):
    """A WhyNot that notebooks show as HTML."""

    def _repr_html_(self) -> str:
        return fragment(self)


class ShownPendingPods(PendingPods, frozen=True, kw_only=True):
    """PendingPods that notebooks show as HTML."""

    def _repr_html_(self) -> str:
        return fragment(self)


class ShownWhatIf(WhatIfAnswer, frozen=True, kw_only=True):
    """A WhatIfAnswer that notebooks show as HTML."""

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
