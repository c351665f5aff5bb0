"""Times, rates and random quantities of a scenario.

A time is a number of seconds or a text such as `90s`, `8h30m` or `2d`; a rate is `40/h`. A quantity that may be random
is a scalar, or a mapping with one distribution and optional bounds `min` and `max`. Draws invert the distribution
function at a uniform number (`streams`).
"""

from __future__ import annotations

import csv
import math
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

from stowplan.config.errors import Problems
from stowplan.config.strict_decoding import suggestion, type_name
from stowplan.simulator.streams import RandomStream

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhdw])")
MAX_SECONDS = 1e11
"""3,000 years."""
MAX_NUMBER = 1e18
MAX_OBJECTS = 1_000_000
"""Nodes of a pool, replicas of a workload, objects of one arrival. More do not fit into memory."""
_MAX_SIGMA, _MIN_ALPHA, _MIN_SHAPE = 20.0, 0.1, 0.01
"""Beyond these a distribution draws values that no float can hold."""
_normal = NormalDist().inv_cdf
_SMALLEST_UNIFORM = 2.0**-54
_HINT = "expected a time such as 90s, 10m, 8h30m or 2d, or a number of seconds"


def seconds_of(value: object) -> float:
    """A time in seconds. Raises ValueError."""
    found: float = math.nan
    if isinstance(value, int | float) and not isinstance(value, bool):
        found = value
    elif isinstance(value, str):
        digits = value.removeprefix("-")
        parts = _PART.findall(digits)
        if parts and "".join(number + unit for number, unit in parts) == digits:
            found = sum(float(number) * _SECONDS[unit] for number, unit in parts)
            found = found if digits == value else -found
    if found != found or abs(found) == math.inf:
        raise ValueError(_HINT)
    if not abs(found) <= MAX_SECONDS:
        raise ValueError(f"must be at most {MAX_SECONDS:g} seconds")
    return float(found)


def length_of(value: object) -> float:
    """A time that is not negative. Raises ValueError."""
    found = seconds_of(value)
    if found < 0:
        raise ValueError("must be 0 or more")
    return found


def rate_of(value: object) -> float:
    """A rate per second, such as `40/h`. Raises ValueError."""
    number, slash, unit = value.partition("/") if isinstance(value, str) else ("", "", "")
    if slash and unit in _SECONDS:
        try:
            found = float(number) / _SECONDS[unit]
        except ValueError:
            found = -1.0
        if math.isfinite(found) and found >= 0:
            return found
    raise ValueError("expected a rate such as 40/h, 2/m or 0.5/s")


def time_text(seconds: float) -> str:
    """A time for people: `1h05m`, `2m05s`, `12.3s`."""
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    if seconds < 60:
        return f"{sign}{seconds:.3g}s"
    if seconds < 3600:
        minutes, rest = divmod(round(seconds), 60)
        return f"{sign}{minutes}m{rest:02d}s"
    hours, rest = divmod(round(seconds / 60), 60)
    if hours < 48:
        return f"{sign}{hours}h{rest:02d}m"
    return f"{sign}{hours // 24}d{hours % 24:02d}h"


class RandomQuantity(NamedTuple):
    """A value that may be random."""

    invert: Callable[[float], Any]
    """The value at a uniform number in [0, 1)."""
    mean: float
    """The expected value without bounds; nan if unknown or infinite."""
    is_constant: bool = False

    def draw_count(self, stream: RandomStream) -> int:
        """A number of objects; a draw above the largest one counts as that."""
        return int(min(self.draw(stream), MAX_OBJECTS))

    def draw(self, stream: RandomStream) -> Any:
        return self.invert(0.0) if self.is_constant else self.invert(stream.uniform())


def constant(value: Any) -> RandomQuantity:
    return RandomQuantity(lambda uniform: value, value if isinstance(value, int | float) else math.nan, True)


class ScenarioQuantityError(ValueError):
    """A faulty part of a quantity: path relative to the quantity, and the message."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path, self.message = path, message


class MissingColumnError(ScenarioQuantityError):
    """A file without the column."""


Convert = Callable[[object], float]


def number_of(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ValueError(f"expected a number, got {type_name(value)}")
    if not abs(value) <= MAX_NUMBER:
        raise ValueError(f"expected a number of at most {MAX_NUMBER:g}")
    return float(value)


def count_of(value: object) -> float:
    """A number of objects that are created at once. Raises ValueError."""
    found = number_of(value)
    if not 0 <= found <= MAX_OBJECTS:
        raise ValueError(f"must be from 0 to {MAX_OBJECTS:,}")
    return found


def quantity(
    value: object, path: str, problems: Problems, convert: Convert = length_of, folder: Path = Path()
) -> RandomQuantity:
    """The quantity at a path; faults are added to `problems`."""
    try:
        return _quantity(value, convert, folder)
    except ScenarioQuantityError as fault:
        problems.add(path + fault.path, fault.message)
    except ValueError as error:
        problems.add(path, str(error))
    return constant(0.0)


def _quantity(value: object, convert: Convert, folder: Path) -> RandomQuantity:
    if not isinstance(value, dict):
        return constant(convert(value))
    low = _part(value, "min", convert) if "min" in value else -math.inf
    high = _part(value, "max", convert) if "max" in value else math.inf
    kinds = [key for key in value if key not in ("min", "max")]
    if len(kinds) != 1:
        raise ValueError(f"expected one distribution of {', '.join(_DISTRIBUTIONS)}, got {len(kinds)}")
    kind = kinds[0]
    if kind not in _DISTRIBUTIONS:
        raise ScenarioQuantityError(f".{kind}", f"unknown distribution{suggestion(kind, _DISTRIBUTIONS)}")
    if low > high:
        raise ValueError("min is larger than max")
    made = _DISTRIBUTIONS[kind](value[kind], convert, folder)
    if low == -math.inf and high == math.inf:
        return made
    invert = made.invert
    return RandomQuantity(lambda uniform: min(max(invert(uniform), low), high), min(max(made.mean, low), high))


def _part(value: object, name: str, convert: Convert, default: float | None = None) -> float:
    """A field of a distribution's parameters."""
    if not isinstance(value, dict):
        raise ValueError(f"expected an object, got {type_name(value)}")
    if name not in value:
        if default is None:
            raise ScenarioQuantityError(f".{name}", "Required value")
        return default
    try:
        return convert(value[name])
    except ValueError as error:
        raise ScenarioQuantityError(f".{name}", str(error)) from error


def _fields(kind: str, value: object, *names: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ScenarioQuantityError(f".{kind}", f"expected an object, got {type_name(value)}")
    for key in value:
        if key not in names:
            raise ScenarioQuantityError(f".{kind}.{key}", f"unknown field{suggestion(key, names)}")
    return value


def _positive(kind: str, name: str, value: float) -> float:
    if value <= 0:
        raise ScenarioQuantityError(f".{kind}.{name}", "must be greater than 0")
    return value


def _within(kind: str, value: object, convert: Convert, *names: str) -> list[float]:
    """Positive parameters of a distribution, the first one by `convert`."""
    given = _fields(kind, value, *names)
    try:
        found = [_part(given, name, convert if index == 0 else number_of) for index, name in enumerate(names)]
    except ScenarioQuantityError as fault:
        raise ScenarioQuantityError(f".{kind}{fault.path}", fault.message) from fault
    return [_positive(kind, name, each) for name, each in zip(names, found, strict=True)]


def _uniform(value: object, convert: Convert, folder: Path) -> RandomQuantity:
    if not isinstance(value, list) or len(value) != 2:
        raise ScenarioQuantityError(".uniform", "expected a list of two values")
    try:
        low, high = convert(value[0]), convert(value[1])
    except ValueError as error:
        raise ScenarioQuantityError(".uniform", str(error)) from error
    if low > high:
        raise ScenarioQuantityError(".uniform", "the first value is larger than the second")
    if all(type(each) is int for each in value):
        count = int(high) - int(low) + 1
        return RandomQuantity(lambda uniform: int(low) + int(uniform * count), (low + high) / 2)
    return RandomQuantity(lambda uniform: low + (high - low) * uniform, (low + high) / 2)


def _exponential(value: object, convert: Convert, folder: Path) -> RandomQuantity:
    (mean,) = _within("exponential", value, convert, "mean")
    return RandomQuantity(lambda uniform: -mean * math.log1p(-uniform), mean)


def _lognormal(value: object, convert: Convert, folder: Path) -> RandomQuantity:
    median, sigma = _within("lognormal", value, convert, "median", "sigma")
    if sigma > _MAX_SIGMA:
        raise ScenarioQuantityError(".lognormal.sigma", f"must be at most {_MAX_SIGMA:g}")
    return RandomQuantity(
        lambda uniform: median * math.exp(sigma * normal(uniform)), median * math.exp(sigma * sigma / 2)
    )


def _pareto(value: object, convert: Convert, folder: Path) -> RandomQuantity:
    low, alpha = _within("pareto", value, convert, "min", "alpha")
    if alpha < _MIN_ALPHA:
        raise ScenarioQuantityError(".pareto.alpha", f"must be at least {_MIN_ALPHA:g}")
    mean = low * alpha / (alpha - 1) if alpha > 1 else math.nan
    return RandomQuantity(lambda uniform: low * (1.0 - uniform) ** (-1.0 / alpha), mean)


def _weibull(value: object, convert: Convert, folder: Path) -> RandomQuantity:
    scale, shape = _within("weibull", value, convert, "scale", "shape")
    if shape < _MIN_SHAPE:
        raise ScenarioQuantityError(".weibull.shape", f"must be at least {_MIN_SHAPE:g}")
    mean = scale * math.gamma(1 + 1 / shape)
    return RandomQuantity(lambda uniform: scale * (-math.log1p(-uniform)) ** (1.0 / shape), mean)


def _normally(value: object, convert: Convert, folder: Path) -> RandomQuantity:
    mean, deviation = _within("normal", value, convert, "mean", "sd")
    return RandomQuantity(lambda uniform: max(0.0, mean + deviation * normal(uniform)), mean)


def normal(uniform: float) -> float:
    """The inverse of the standard normal distribution function."""
    return _normal(max(uniform, _SMALLEST_UNIFORM))


def _choice(value: object, convert: Convert, folder: Path) -> RandomQuantity:
    if not isinstance(value, dict) or not value:
        raise ScenarioQuantityError(".choice", "expected values with their weights")
    values: list[float] = []
    for key in value:
        try:
            values.append(convert(key if not _is_number(key) else float(key)))
        except ValueError as error:
            raise ScenarioQuantityError(f".choice.{key}", str(error)) from error
    return weighted(values, value, ".choice")


def weighted(values: Sequence[Any], weights: Mapping[str, Any], path: str = "") -> RandomQuantity:
    """One of the values, by their weights."""
    shares = []
    for key, weight in weights.items():
        if not isinstance(weight, int | float) or isinstance(weight, bool) or not 0 <= weight < math.inf:
            raise ScenarioQuantityError(f"{path}.{key}", "expected a weight of 0 or more")
        shares.append(float(weight))
    whole = math.fsum(shares)
    if whole <= 0:
        raise ScenarioQuantityError(path, "the sum of the weights must be greater than 0")
    bounds = list(accumulate(share / whole for share in shares))
    last = max(index for index, share in enumerate(shares) if share)
    numbers = all(isinstance(each, int | float) for each in values)
    mean = math.fsum(each * share / whole for each, share in zip(values, shares, strict=True)) if numbers else math.nan
    return RandomQuantity(lambda uniform: values[min(bisect_right(bounds, uniform), last)], mean)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\d+(\.\d+)?", text) is not None


def _empirical(value: object, convert: Convert, folder: Path) -> RandomQuantity:
    given = _fields("empirical", value, "file", "column")
    name, column = given.get("file"), given.get("column")
    if not isinstance(name, str):
        raise ScenarioQuantityError(".empirical.file", "Required value: a CSV file")
    values = sorted(read_column(folder / name, column, convert, ".empirical"))
    return RandomQuantity(lambda uniform: values[int(uniform * len(values))], math.fsum(values) / len(values))


def read_column(file: Path, column: object, convert: Convert, path: str) -> list[float]:
    """A column of a CSV file with a heading; the first one by default."""
    try:
        with file.open(newline="", encoding="utf-8-sig") as stream:
            rows = csv.DictReader(stream)
            names = list(rows.fieldnames or ())
            name = column if isinstance(column, str) else (names[0] if names else "")
            if name not in names:
                raise MissingColumnError(f"{path}.column", f"{file}: no column {name!r}{suggestion(name, names)}")
            found = []
            for row in rows:
                try:
                    text = (row[name] or "").strip()
                    found.append(convert(float(text) if re.fullmatch(r"-?\d+(\.\d*)?([eE]-?\d+)?", text) else text))
                except ValueError as error:
                    raise ScenarioQuantityError(
                        path, f"{file}: line {rows.line_num}, column {name}: {error}"
                    ) from error
    except OSError as error:
        raise ScenarioQuantityError(f"{path}.file", f"{file}: {error.strerror or error}") from error
    except csv.Error as error:
        raise ScenarioQuantityError(f"{path}.file", f"{file}: {error}") from error
    except UnicodeDecodeError as error:
        raise ScenarioQuantityError(f"{path}.file", f"{file}: not a text file in UTF-8") from error
    if not found:
        raise ScenarioQuantityError(path, f"{file}: no rows")
    return found


_DISTRIBUTIONS: dict[str, Callable[[object, Convert, Path], RandomQuantity]] = {
    "uniform": _uniform,
    "exponential": _exponential,
    "lognormal": _lognormal,
    "pareto": _pareto,
    "weibull": _weibull,
    "normal": _normally,
    "choice": _choice,
    "empirical": _empirical,
}
