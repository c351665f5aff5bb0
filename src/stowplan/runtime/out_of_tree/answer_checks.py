"""Checks of the values that out-of-tree plugins return."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import islice
from numbers import Integral, Real
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from stowplan.framework import Code, Nodes, Normalizer, Plugin, Refusal, Scores, Status, error, implements
from stowplan.framework.safe_text import shown
from stowplan.runtime.points.cycle_error import CycleError, failed_at

MAX_FLOAT: Final = sys.float_info.max
"""Numbers between this and its negative are finite; NaN and the infinities are not."""

BEYOND_64_BITS: Final = 2.0**63
"""The smallest score that does not fit into 64 bits."""

FRACTIONAL_NORMALIZERS: Final[tuple[Normalizer, ...]] = ("min-max", "reverse")
"""Normalisers that keep the fractions of raw scores."""

MAX_REFUSALS: Final = 16
"""Refusals of one node that are taken from one plugin."""


MAY_WAIT: Final = "permit"
MAY_SKIP: Final = ("pre_filter", "pre_score", "pre_bind_pre_flight", "bind")


def real(value: object) -> float | None:
    """A finite real number, NumPy's included, as an int or float; None for anything else."""
    if not isinstance(value, int | float):
        if not isinstance(value, Real):
            return None
        try:
            value = int(value) if isinstance(value, Integral) else float(value)
        except Exception:  # Too large, or a class of the plugin that raises.
            return None
    return value if -MAX_FLOAT <= value <= MAX_FLOAT else None


def unexpected(point: str, answer: object, expected: str) -> Status:
    return error(f"{point} returned {shown(answer)}, expected {expected}")


def not_a_status(answer: object) -> Status:
    """The error for an answer that is neither a Status nor None."""
    advice = ": return None to accept, reject(reason) to reject" if isinstance(answer, bool | str) else ""
    return unexpected("it", answer, f"a Status or None{advice}")


def checked_status(status: Status, point: str) -> Status:
    """A status with a valid code for the point and strings as reasons, or an error about it."""
    if type(status.code) is not Code:
        try:
            status = Status(Code(status.code), *status.reasons, plugin=status.plugin, timeout=status.timeout)
        except ValueError:
            return error(f"it returned a Status with the code {shown(status.code)}, expected one of Code")
    reasons: tuple[object, ...] = status.reasons
    for reason in reasons:
        if not isinstance(reason, str):
            return error(f"it gave {shown(reason)} as a reason, expected a string")
    if status.code == Code.Wait and point != MAY_WAIT and not reasons:
        return error(f"{point} returned wait(), which only {MAY_WAIT} may return: return reject(reason) instead")
    if status.code == Code.Skip and point not in MAY_SKIP and not reasons:
        return error(f"{point} returned skip(), which only {', '.join(MAY_SKIP)} may return: return None instead")
    return status


def checked_refusals(answer: Any) -> list[Refusal]:
    """The refusals that a plugin returns, with fields of the right types. Raises if they have others."""
    if answer is None:
        return []
    return [msgspec.convert(msgspec.to_builtins(each), Refusal) for each in islice(answer, MAX_REFUSALS)]


def array(given: object, dtype: type[np.generic] | None = None) -> NDArray[Any]:
    """A plugin's answer for many nodes as an array, zero-dimensional if it is not a vector."""
    try:
        return np.asarray(given, dtype=dtype)
    except Exception:  # For example lists of unequal length.
        return np.zeros(())


def sort_key_types(key: object) -> tuple[type, ...] | None:
    """The types in a sort key, float for every number; None if it is not a tuple of comparable parts."""
    if not isinstance(key, tuple):
        return None
    types = tuple(float if isinstance(part, int | float) else type(part) for part in key)
    comparable = set(types) <= {float, str} and all(part == part for part in key)  # NaN differs from itself.
    return types if comparable else None


class ScoreChecks:
    """Checks of one plugin's scores. Each raises CycleError, with the plugin's name, for an invalid value."""

    def __init__(self, plugin: Plugin, on_bug: Callable[[str], None]) -> None:
        self._plugin = plugin
        self._on_bug = on_bug
        self._name = plugin.name
        self._normalize = plugin.normalize
        self._is_fractional = plugin.normalize in FRACTIONAL_NORMALIZERS
        self._normalizes_itself = any(implements(type(plugin), m) for m in ("normalize_nodes", "normalize_score"))

    def failure(self, step: str, status: Status) -> CycleError:
        return failed_at(step, self._name, checked_status(status, step).message)

    def bug(self, step: str, status: Status) -> CycleError:
        """The error for an answer that no plugin may return."""
        self._on_bug(status.message)
        return self.failure(step, status)

    def score(self, answer: Any) -> float:
        """The score of one node, as a number for the normaliser."""
        number = answer if type(answer) in (float, int) else self._number(answer)
        if self._plugin.score_range is not None:
            number = self._mapped(number, self._plugin.score_range)
        if not -MAX_FLOAT <= number <= MAX_FLOAT:
            raise self.bug("score", unexpected("score", answer, "a number"))
        if not self._is_fractional:
            number = int(number)
            if 0 <= number <= 100:
                return number
            if not self._normalizes_itself and (number < 0 or self._normalize is None):
                self._on_bug(f"score returned {number}, expected a number from 0 to 100")
                raise failed_at("weigh", self._name, number)
        if not -BEYOND_64_BITS <= number < BEYOND_64_BITS:
            raise self.bug("score", unexpected("score", answer, "a number of at most 64 bits"))
        return number

    def vector(self, answer: object, nodes: Nodes) -> list[Any]:
        """The answer of `score_nodes`, with one unchecked score for each position."""
        if isinstance(answer, Status):
            raise self.failure("score", answer)
        given = array(answer)
        if given.shape != (len(nodes),):
            raise self.bug("score", _not_a_vector("score_nodes", answer, nodes))
        scores: list[Any] = given.tolist()
        return scores

    def normalized_vector(self, answer: object, nodes: Nodes) -> Scores:
        """The answer of `normalize_nodes`."""
        if isinstance(answer, Status):
            raise self.failure("normalize", answer)
        if not isinstance(answer, np.ndarray) or answer.shape != (len(nodes),):
            raise self.bug("normalize", _not_a_vector("normalize_nodes", answer, nodes))
        if answer.dtype.kind in "biuf" and bool(((answer >= 0) & (answer <= 100)).all()):
            return answer.astype(np.int64)
        values = answer.tolist()
        normalized: Scores = np.zeros(len(nodes), dtype=np.int64)
        for position, _ in nodes.infos():
            normalized[position] = self._percentage("normalize_nodes", values[position])
        return normalized

    def normalized_by_name(self, scores: dict[str, Any], nodes: Nodes) -> Scores:
        """The scores by node name after `normalize_score`."""
        normalized: Scores = np.zeros(len(nodes), dtype=np.int64)
        for position, info in nodes.infos():
            if info.name not in scores:
                raise self.bug("normalize", error(f"normalize_score left no score for node {info.name}"))
            normalized[position] = self._percentage("normalize_score", scores[info.name])
        return normalized

    def _percentage(self, point: str, value: object) -> int:
        number = real(value)
        if number is None:
            raise self.bug("normalize", unexpected(point, value, "numbers"))
        if not 0 <= number <= 100:
            self._on_bug(f"{point} left {number}, expected a number from 0 to 100")
            raise failed_at("weigh", self._name, number)
        return int(number)

    def _number(self, answer: object) -> float:
        if isinstance(answer, Status):
            raise self.failure("score", answer)
        number = None if isinstance(answer, bool) else real(answer)
        if number is None:
            raise self.bug("score", unexpected("score", answer, "a number"))
        return number

    def _mapped(self, number: float, score_range: tuple[float, float]) -> float:
        try:
            low, high = score_range
            return 100 * (number - low) / (high - low)
        except Exception as problem:
            text = f"score returned {shown(number)}, which cannot be mapped from score_range {shown(score_range)}"
            raise self.bug("score", error(text)) from problem


def _not_a_vector(point: str, answer: object, nodes: Nodes) -> Status:
    return unexpected(point, answer, f"a vector of {len(nodes)} scores")
