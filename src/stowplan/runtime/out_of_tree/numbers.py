"""Numbers of users' plugins: what counts as one."""

from __future__ import annotations

import sys
from numbers import Integral, Real
from typing import Final

LARGEST: Final = sys.float_info.max
"""What lies between this and its negative is finite; what is no number does not."""

BEYOND_64_BITS: Final = 2.0**63
"""The least that is too large for a score."""


def real(value: object) -> float | None:
    """A finite real number, NumPy's and others among them, as one of Python's own; None where it is none."""
    if not isinstance(value, int | float):
        if not isinstance(value, Real):
            return None
        try:
            value = int(value) if isinstance(value, Integral) else float(value)
        except Exception:  # It may be too large for that, or do what it likes.
            return None
    return value if -LARGEST <= value <= LARGEST else None
