"""The budget for values that were computed for large pod templates.

What is computed for a large template takes several times the memory of its pods. It is freed bit by bit among objects
of other pods, so that the arenas which it was in are not returned: memory follows the peak, and the peak has to be
bounded.
"""

from __future__ import annotations

from collections.abc import Callable
from weakref import ref

from stowplan.framework import PodTemplate

BUDGET_BYTES = 128 * 1024
"""Encoded: eight of the smallest large templates, or none of those with thousands of terms, whose values are computed
again by each attempt, as in kube-scheduler."""


class LargeTemplates:
    """The large templates with computed values, the one used least recently first."""

    def __init__(self, forget: Callable[[PodTemplate], None]) -> None:
        """`forget` drops what was computed for a template."""
        self._forget = forget
        self._bytes: dict[ref[PodTemplate], int] = {}

    def use(self, template: PodTemplate) -> None:
        """Values were computed for a template. Forgets those of others, or its own, while all exceed the budget."""
        sizes = {entry: size for entry, size in self._bytes.items() if entry() not in (None, template)}
        sizes[ref(template)] = template.encoded_bytes
        excess = sum(sizes.values()) - BUDGET_BYTES
        for entry in list(sizes):
            if excess <= 0:
                break
            excess -= sizes.pop(entry)
            oldest = entry()
            if oldest is not None:
                self._forget(oldest)
        self._bytes = sizes
